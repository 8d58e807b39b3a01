/** The database and the code: migrations that match the schema, upgrades that lose nothing, and no way back. */

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../src/base/clock.ts';
import { loadJobs } from '../src/job/load.ts';
import { openConnection, openReadOnly } from '../src/store/connection.ts';
import { isLock, openStore, tryLock } from '../src/store.ts';
import { temporaryFolder } from './helpers/folder.ts';
import { runMain } from './helpers/main.ts';
import { copyProgram, type ProjectCopy } from './helpers/project-copy.ts';

const jobs = await loadJobs();
const settings = { MARKET_API_URL: 'http://127.0.0.1:9', MARKET_API_KEY: 'k-1234' };

type Journal = {
  entries: { idx: number; version: string; when: number; tag: string; breakpoints: boolean }[];
};

/** A mirror as this code leaves it, with one row in it. */
function mirrorInTemporaryFolder(): { dir: string; file: string } {
  const dir = temporaryFolder();
  const store = openStore(dir, jobs, () => Date.UTC(2026, 10, 20));
  store.keepNextDue('news', Date.UTC(2026, 10, 21));
  store.close();
  return { dir, file: store.file };
}

function query(file: string, sql: string): unknown[] {
  const database = openReadOnly(file);
  try {
    return database.prepare(sql).raw().all();
  } finally {
    database.close();
  }
}

/** Runs a command of the copy that opens the mirror for writing, and makes no call. */
async function open(project: ProjectCopy, dir: string) {
  return await project.market(['quarantine', 'retry'], { MIRROR_DIR: dir });
}

/** Adds a migration to the copy of the project; replaces it where it is there already. */
function addMigration(project: ProjectCopy, sql: string): void {
  const file = join(project.folder, 'drizzle/meta/_journal.json');
  const journal = JSON.parse(readFileSync(file, 'utf8')) as Journal;
  const entries = journal.entries.filter(({ tag }) => tag !== 'later');
  const newest = Math.max(...entries.map(({ when }) => when));
  entries.push({ idx: entries.length, version: '6', when: newest + 1, tag: 'later', breakpoints: true });
  writeFileSync(file, JSON.stringify({ ...journal, entries }));
  writeFileSync(join(project.folder, 'drizzle/later.sql'), sql);
}

const addColumn = 'ALTER TABLE `_datasets` ADD `remark` text;';
const noteOf = 'SELECT job, next_due_at FROM _datasets';
const note = [['news', '2026-11-21T00:00:00.000Z']];

test('the migrations are in the journal, in the order of their time', () => {
  const journal = JSON.parse(readFileSync('drizzle/meta/_journal.json', 'utf8')) as Journal;
  const files = readdirSync('drizzle').filter((file) => file.endsWith('.sql'));
  expect(journal.entries.map(({ tag }) => `${tag}.sql`).sort()).toEqual(files.sort());
  // A migration older than the one before it would be skipped in silence.
  const times = journal.entries.map(({ when }) => when);
  expect(times).toEqual([...new Set(times)].sort((one, other) => one - other));
});

test('a database of an earlier version stays as it was where a migration fails; once that is mended it is copied page by page, migrated, and has lost nothing; the earlier version refuses it then, and does not touch it', async () => {
  const { dir, file } = mirrorInTemporaryFolder();
  const writer = openConnection(file);
  writer.exec('CREATE TABLE big (text); INSERT INTO big VALUES (zeroblob(100000)); DROP TABLE big');
  writer.close();
  const pages = 'SELECT page_count, freelist_count FROM pragma_page_count, pragma_freelist_count';
  const before = query(file, pages);
  const [[applied]] = query(file, 'SELECT count(*) FROM __drizzle_migrations') as [[number]];
  const project = copyProgram();
  addMigration(project, `${addColumn}\n--> statement-breakpoint\nINSERT INTO nowhere VALUES (1);`);
  const failed = await open(project, dir);
  expect([failed.code, failed.stderr]).toEqual([70, expect.stringContaining('nowhere')]);
  expect(query(file, noteOf)).toEqual(note);
  expect(() => query(file, 'SELECT remark FROM _datasets')).toThrow('no such column');

  addMigration(project, addColumn);
  // Under a process of the earlier version, which may write at any time, nothing is migrated.
  const lock = tryLock(dir, 'news');
  expect(await open(project, dir)).toMatchObject({
    code: 75,
    stderr: expect.stringContaining(`a run of news (process ${process.pid}) is at work there`),
  });
  if (isLock(lock)) lock.release();
  expect(() => query(file, 'SELECT remark FROM _datasets')).toThrow('no such column');

  // Of the migration before: one way back is enough.
  writeFileSync(join(dir, `mirror.before-migration-${applied}.db`), '');
  await open(project, dir);
  expect(query(file, noteOf)).toEqual(note);
  expect(query(file, 'SELECT remark FROM _datasets')).toEqual([[null]]);
  const copy = join(dir, `mirror.before-migration-${applied + 1}.db`);
  expect(query(copy, noteOf)).toEqual(note);
  expect((statSync(copy).mode & 0o777).toString(8)).toBe('600');
  expect(() => query(copy, 'SELECT remark FROM _datasets')).toThrow('no such column');
  expect(query(copy, pages)).toEqual(before);
  expect(readdirSync(dir).filter((name) => name.startsWith('mirror.before'))).toEqual([basename(copy)]);

  const migrated = digest(file);
  for (const command of ['sync', 'status'])
    expect(await runMain([command], { ...settings, MIRROR_DIR: dir }, systemClock)).toMatchObject({
      code: 78,
      stderr: `market-mirror: ${file}: written by a newer market-mirror (it is ahead by 1); upgrade this one\n`,
    });
  expect(digest(file)).toBe(migrated);
});

describe('a database of no release', () => {
  const made = {
    'made before the first one': `CREATE TABLE __drizzle_migrations (id integer, hash text, created_at numeric);
      INSERT INTO __drizzle_migrations VALUES (1, 'x', 1795375806568); CREATE TABLE news (_key text)`,
    'without a number': 'CREATE TABLE news (_key text)',
  };
  test.each(Object.entries(made))('%s is refused, and not touched: 78', async (_, sql) => {
    const dir = temporaryFolder();
    const file = join(dir, 'mirror.db');
    const database = openConnection(file);
    database.exec(sql);
    database.close();
    if (sql.includes('__drizzle')) writeFileSync(join(dir, 'mirror.id'), 'a name');
    const before = digest(file);
    let parts: string[] = [];
    for (const command of ['sync', 'status', 'quarantine']) {
      const { code, stderr } = await runMain([command], { ...settings, MIRROR_DIR: dir }, systemClock);
      const [, told = '', named = '', then] =
        /^market-mirror: (.*?): move (.*) aside(, the next sync makes a new one; sqlite3 still reads it)\n$/.exec(
          stderr,
        ) ?? [];
      expect([command, code, told, then]).toEqual([
        command,
        78,
        `${file} was made by a development version`,
        expect.any(String),
      ]);
      parts = named.split(' and ');
    }
    expect(digest(file)).toBe(before);

    for (const part of parts)
      if (existsSync(join(dir, part))) renameSync(join(dir, part), join(dir, `${part}.aside`));
    openStore(dir, jobs, () => 0).close();
    expect(query(file, 'SELECT count(*) FROM news')).toEqual([[0]]);
  });
});

function digest(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
