/**
 * Rows are known by their numbers: to walks, volatile values, versions and the order in which `serve` shows them. So a table that a
 * migration rebuilds, and a mirror that was dumped as SQL and read again, must have each number where it was.
 */

import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Row } from '../../model-api/index.ts';
import { listed } from '../../src/job.ts';
import { mirror } from '../../src/mirror.ts';
import { openPages } from '../../src/reading/pages.ts';
import { openReadOnly } from '../../src/store/connection.ts';
import { openStore, type Store, type WalkRow } from '../../src/store.ts';
import { bump, change, insert, publish, remove } from '../helpers/edits.ts';
import { temporaryFolder } from '../helpers/folder.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { copyProgram, copyProject } from '../helpers/project-copy.ts';
import { setup } from '../helpers/setup.ts';
import { needs } from '../helpers/tools.ts';

const MINUTE = 60_000;
const lists = ['ai-signals', 'news'] as const;
const unfinished = 'meme-signals';
const HELD_AT = 40;

type Lived = { bench: Bench; held: Map<string, Row> };

/** Two lists with versions, removed and held rows, an order of their own and moved ages; a third whose walk has not ended. */
async function setupLived(): Promise<Lived> {
  const bench = await setup({ rows: 150 });
  const held = new Map<string, Row>();
  publish(null)(bench.upstream('ai-signals'));
  const walk = async (job: string) => {
    bench.clock.advance(MINUTE);
    await bench.mirror(job);
  };
  for (const job of lists) {
    const upstream = bench.upstream(job);
    await walk(job);
    change(10, job === 'news' ? { headline: 'changed' } : { confidence: 0.123 })(upstream);
    insert(0)(upstream);
    await walk(job);
    // The row with the greatest number goes, so that only the history has it.
    remove(0)(upstream);
    await walk(job);
    await walk(job);
    const quality = upstream.rows[3]?.['quality'] as object;
    if (job === 'ai-signals') change(3, { quality: { ...quality, ageSeconds: 4_321 } })(upstream);
    bump(120)(upstream);
    held.set(job, upstream.rows.splice(HELD_AT, 1)[0] as Row);
    await walk(job);
  }
  const stop = new AbortController();
  await expect(bench.mirror(unfinished, () => stop.abort(new Error('stopped')), stop.signal)).rejects.toThrow(
    'stopped',
  );
  return { bench, held };
}

/** All that a mirror holds: each table and view with its rows, and what readers of a list are shown, in its order. */
function contents({ jobs }: Bench, file: string): Record<string, unknown> {
  const connection = openReadOnly(file);
  const named = connection
    .prepare<[], string>(
      `SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE '!_!_drizzle%' ESCAPE '!'
         AND name NOT IN ('sqlite_sequence', 'freshness')`,
    )
    .pluck()
    .all();
  const all = named.map((name) => [name, connection.prepare(`SELECT * FROM "${name}" ORDER BY 1, 2`).all()]);
  const pages = openPages(connection, jobs.map(listed));
  const shown = lists.map((job) => {
    const moment = pages.momentOf(job);
    if (typeof moment === 'string') throw new Error(`${job} is ${moment}`);
    return [`shown of ${job}`, [moment.total, pages.readPage(moment, 0, 1_000, () => ['[', ']']).toString()]];
  });
  connection.close();
  return Object.fromEntries([...all, ...shown]);
}

/** What a mirror that was rebuilt does next: it knows every row again, and gives no number a second time. */
async function expectGoesOn({ bench, held }: Lived, store: Store): Promise<void> {
  const walk = (job: string): Promise<WalkRow> => {
    bench.clock.advance(MINUTE);
    return mirror(bench.job(job), { api: bench.api, store }, new AbortController().signal);
  };
  const read = <Value>(sql: string) => {
    const connection = openReadOnly(store.file);
    const found = connection.prepare<[], Value>(sql).pluck().all();
    connection.close();
    return found;
  };
  for (const job of lists) {
    const upstream = bench.upstream(job);
    const table = job.replace('-', '_');
    const versions = read(`SELECT number FROM _${table}_history_rows`);
    upstream.rows.splice(HELD_AT, 0, held.get(job) as Row);
    const unchanged = { verdict: 'verified', inserted: 0, updated: 0, deleted: 0, held: 0, drifted: 0 };
    expect(await walk(job)).toMatchObject(unchanged);
    expect(read(`SELECT number FROM _${table}_history_rows`)).toEqual(versions);

    const [greatest = 0] = read<number>(`SELECT max(_row) FROM _${table}_history_rows`);
    insert(0)(upstream);
    expect(await walk(job)).toMatchObject({ verdict: 'verified', inserted: 1 });
    const [newest] = read<number>(`SELECT max(number) FROM _${table}_rows`);
    expect(newest).toBeGreaterThan(greatest);
  }
  expect(await walk(unfinished)).toMatchObject({
    verdict: 'verified',
    rows: 150,
    inserted: 150,
    anomalies: '{}',
  });
}

describe('a mirror whose tables a migration rebuilds', () => {
  it('has every number where it was, and goes on', async () => {
    const lived = await setupLived();
    const { bench } = lived;
    const before = contents(bench, bench.store.file);
    const project = copyProject();
    const inCopy = (file: string) => join(project.folder, file);
    // SQLite takes a constraint from a column by no other way.
    for (const file of ['src/store/schema.ts', 'src/job.ts', 'src/job/columns.ts'].map(inCopy)) {
      writeFileSync(file, readFileSync(file, 'utf8').replaceAll('.notNull()', ''));
    }
    expect((await project.run('drizzle-kit', 'generate', '--name', 'rebuild')).code).toBe(0);
    const [migration = ''] = readdirSync(inCopy('drizzle')).filter((file) => file.endsWith('_rebuild.sql'));
    const sql = readFileSync(inCopy(`drizzle/${migration}`), 'utf8');
    const rebuilt = sql.match(/(?<=^ALTER TABLE `__new_.*` RENAME TO `).*(?=`;)/gm);
    expect(rebuilt).toEqual(
      expect.arrayContaining([
        ...['_walk_pages', 'walks', 'fields', 'quarantine', '_ai_signals_volatile'],
        ...lists.flatMap((job) =>
          ['rows', 'history_rows'].map((kind) => `_${job.replace('-', '_')}_${kind}`),
        ),
      ]),
    );
    const program = copyProgram();
    cpSync(inCopy('drizzle'), join(program.folder, 'drizzle'), { recursive: true });
    const opened = await program.market(['quarantine', 'retry'], { MIRROR_DIR: bench.dir });
    expect(opened).toMatchObject({ code: 0, stderr: '' });
    expect(contents(bench, bench.store.file)).toEqual(before);

    // From here on as if this code had made them so.
    bench.tamper(
      'DELETE FROM __drizzle_migrations WHERE created_at > (SELECT min(created_at) FROM __drizzle_migrations)',
    );
    bench.reopen();
    await expectGoesOn(lived, bench.store);
  });
});

describe('a mirror that sqlite3 dumped and read again', () => {
  it('has every number where it was, and goes on', async () => {
    needs('sqlite3');
    const lived = await setupLived();
    const { bench } = lived;
    const dir = temporaryFolder();
    const file = join(dir, 'mirror.db');
    const dump = execFileSync('sqlite3', ['-readonly', bench.store.file, '.dump'], { maxBuffer: 2 ** 28 });
    execFileSync('sqlite3', ['-bail', file], { input: dump });
    copyFileSync(join(bench.dir, 'mirror.id'), join(dir, 'mirror.id'));
    expect(contents(bench, file)).toEqual(contents(bench, bench.store.file));

    const store = openStore(dir, bench.jobs, bench.clock.now);
    onTestFinished(() => store.close());
    await expectGoesOn(lived, store);
  });
});
