/** `market-mirror restore`: what it puts in place, what it keeps, what it refuses, and what a kill leaves. */

import {
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isoTime } from '../../src/base/clock.ts';
import type { Failure } from '../../src/base/errors.ts';
import { type Restored, restore } from '../../src/commands/restore.ts';
import { loadJobs } from '../../src/job/load.ts';
import type { Job } from '../../src/job.ts';
import { changedSince } from '../../src/reading/export.ts';
import { openSessions } from '../../src/serve/access/sessions.ts';
import { type FeedDataset, readChanges } from '../../src/serve/answers/mirror-v1/changes.ts';
import { openConnection, openReadOnly } from '../../src/store/connection.ts';
import { type Lock, tryLock } from '../../src/store/lock.ts';
import { Database } from '../../src/store/sqlite.ts';
import { openStore } from '../../src/store.ts';
import { cached } from '../helpers/cached.ts';
import { insert, remove } from '../helpers/edits.ts';
import { provenIn } from '../helpers/proven.ts';
import { copyMirror, idsOf, read, setupCopy, setupSync, truth } from '../helpers/sync-bench.ts';

/** A mirror of which there is a backup of 40 rows; it has read 44 others since. Made once, and copied. */
const made = cached(async () => {
  const bench = await setupSync({ rows: 40 });
  const { cwd, file, model, clock } = bench;
  await bench.sync('ai-signals');
  const [backedUp, { name }] = [idsOf(file), identityOf(file)];
  await bench.run(['backup', join(cwd, 'backup.db')]);
  clock.advance(60_000);
  remove(0, 1)(model.data.aiSignals);
  insert(0, 5)(model.data.aiSignals);
  await bench.sync('ai-signals');
  const backup = readFileSync(join(cwd, 'backup.db'));
  return {
    copy: copyMirror(bench, 40),
    rows: [...model.data.aiSignals.rows],
    backup,
    backedUp,
    latest: idsOf(file),
    name,
  };
});

async function setup() {
  const { copy, rows, backup: bytes, ...known } = await made('');
  const bench = await setupCopy(copy);
  bench.model.data.aiSignals.rows = [...rows];
  const backup = join(bench.cwd, 'backup.db');
  writeFileSync(backup, bytes, { mode: 0o600 });
  const restore = (...args: string[]) => bench.run(['restore', ...args]);
  return { ...bench, ...known, dir: join(bench.cwd, 'data'), backup, restore };
}

const identityOf = (file: string) =>
  read<{ name: string; epoch: string }>(file, 'SELECT name, epoch FROM _identity')[0] as {
    name: string;
    epoch: string;
  };

const keptIn = (dir: string) => readdirSync(dir).filter((name) => name.startsWith('before-restore-'));

test('the backup takes the place of the mirror, which is kept, and begins another epoch each time', async () => {
  const { restore, sync, model, clock, backup, backedUp, latest, dir, file, name } = await setup();
  const { code, stdout, stderr } = await restore(backup);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/mirror\.db: 40 rows of .*backup\.db, last proven complete as of 20/);
  expect(stdout).toMatch(/is kept in .*before-restore-20\S+: delete it/);
  expect(stdout).toContain('next: ');
  expect(idsOf(file)).toEqual(backedUp);
  const [kept = ''] = keptIn(dir);
  expect(idsOf(join(dir, kept, 'mirror.db'))).toEqual(latest);
  expect(readdirSync(dir).sort()).toEqual([kept, 'locks', 'mirror.db', 'mirror.id']);

  const first = identityOf(file);
  expect(first.name).toBe(name);
  expect([identityOf(backup).epoch, identityOf(join(dir, kept, 'mirror.db')).epoch]).not.toContain(
    first.epoch,
  );
  clock.advance(1_000);
  const again = JSON.parse((await restore(backup, '--json')).stdout) as Restored;
  expect(again).toMatchObject({ version: 1, file, backup, keys: false, kept: expect.stringContaining(dir) });
  expect(again.datasets).toContainEqual(expect.objectContaining({ job: 'ai-signals', rows: 40 }));
  expect(identityOf(file).epoch).not.toBe(first.epoch);

  expect((await sync('ai-signals')).code).toBe(0);
  expect(idsOf(file)).toEqual(truth(model));
});

describe('whoever goes on from a seq after a restore', () => {
  const lastSeq = (file: string, column = 'last_seq') =>
    read<{ seq: number }>(file, `SELECT max(${column}) AS seq FROM _datasets`)[0]?.seq ?? 0;
  /** What `export --since` gives; `usage` where it is refused. */
  const exportSince = ({ dir, file, clock }: Awaited<ReturnType<typeof setup>>, seq: number) => {
    try {
      return read(
        file,
        changedSince(
          dir,
          { name: 'ai-signals', table: 'ai_signals', history: 'ai_signals_history' },
          isoTime(seq),
          clock.now(),
        ),
      ).length;
    } catch (thrown) {
      return (thrown as Failure).kind;
    }
  };

  test.each([
    ['with restore', 0, ({ restore, backup }) => restore(backup)],
    ['with restore, after the clock was put back', -3_600_000, ({ restore, backup }) => restore(backup)],
    ['by hand', 60_000, async ({ backup, file }) => copyFileSync(backup, file)],
  ] satisfies [string, number, (bench: Awaited<ReturnType<typeof setup>>) => Promise<unknown>][])(
    '%s, begins anew where it was taken back, and misses nothing else',
    async (_, ms, put) => {
      const bench = await setup();
      const { file, backup, sync, clock, dir } = bench;
      const [backedUp, latest] = [lastSeq(backup), lastSeq(file)];
      clock.advance(ms);
      await put(bench);
      expect(exportSince(bench, backedUp)).toBe(0);
      expect(exportSince(bench, lastSeq(backup, 'reordered_seq') + 1)).toBe('usage');
      expect(exportSince(bench, latest)).toBe('usage');
      await sync('ai-signals');
      expect(lastSeq(file)).toBeGreaterThan(latest);
      expect(exportSince(bench, backedUp)).toBe(6);
      expect(exportSince(bench, latest)).toBe('usage');
      const later = lastSeq(file);
      expect(exportSince(bench, later)).toBe(0);

      const connection = openReadOnly(file);
      const jobs = await loadJobs();
      const job = jobs.find(({ name }) => name === 'ai-signals') as Job;
      const dataset = { ...job, columns: [] } as unknown as FeedDataset;
      const feed = (seq: number) => () =>
        readChanges(connection, { datasets: [dataset], since: { seq, dataset: null, key: null }, limit: 9 });
      expect(feed(latest)).toThrow(expect.objectContaining({ status: 410 }));
      connection.close();
      // The queue of changes has told of the mirror before: it tells of this one as of a new one.
      const store = openStore(dir, jobs, clock.now);
      expect(provenIn(store).since(job, later)).toBeNull();
      expect(provenIn(store).since(job, latest)).toEqual(provenIn(store).since(job, 0));
      store.close();
    },
  );
});

describe('a mirror that cannot be read', () => {
  test('is kept as it is, with the log that goes with it', async () => {
    const { restore, backup, backedUp, dir, file } = await setup();
    writeFileSync(file, 'no database at all');
    writeFileSync(`${file}-wal`, 'its log');
    expect((await restore(backup)).code).toBe(0);
    expect(idsOf(file)).toEqual(backedUp);
    const kept = join(dir, keptIn(dir)[0] ?? '');
    expect(readdirSync(kept).sort()).toEqual(['mirror.db', 'mirror.db-wal']);
    expect(readFileSync(join(kept, 'mirror.db-wal'), 'utf8')).toBe('its log');
  });

  test('may be gone, and leave a log that would spoil the backup', async () => {
    const { restore, backup, backedUp, dir, file } = await setup();
    // As a kill leaves it, with a log of its own.
    const connection = openConnection(file);
    connection.exec(`UPDATE _identity SET epoch = 'logged'`);
    copyFileSync(`${file}-wal`, join(dir, 'log'));
    connection.close();
    copyFileSync(join(dir, 'log'), `${file}-wal`);
    rmSync(file);
    expect((await restore(backup)).code).toBe(0);
    expect(idsOf(file)).toEqual(backedUp);
    expect(identityOf(file).epoch).not.toBe('logged');
    expect(readdirSync(join(dir, keptIn(dir)[0] ?? ''))).toEqual(['mirror.db-wal']);
  });
});

describe('nothing is changed where it is refused', () => {
  test('beside a daemon, serve, a run or an upgrade', async () => {
    const { restore, backup, latest, dir, file } = await setup();
    for (const [name, words] of [
      ['daemon', 'the daemon'],
      ['serve', 'serve'],
      ['news', 'a run of news'],
      ['migration', 'an upgrade'],
    ] as const) {
      const lock = tryLock(dir, name) as Lock;
      const { code, stderr } = await restore(backup);
      lock.release();
      expect([code, stderr]).toEqual([75, expect.stringContaining(`: ${words} (process ${process.pid}) is`)]);
    }
    const reader = openReadOnly(file);
    const beside = await restore(backup);
    reader.close();
    expect(beside).toMatchObject({ code: 75, stderr: expect.stringContaining('is open in another process') });
    expect([idsOf(file), keptIn(dir)]).toEqual([latest, []]);
  });

  test('by whoever opened the mirror before and reads it after: its log would meet the backup', async () => {
    const { backup, dir, file, restore } = await setup();
    // Whoever waits for the lock of the old file finds another one at its path.
    const look = () => {
      const alone = new Database(file);
      alone.pragma('journal_mode = delete');
      alone.close();
      renameSync(file, `${file}.old`);
      copyFileSync(backup, file);
    };
    expect(() => openConnection(file, 0, look)).toThrow(
      expect.objectContaining({
        kind: 'incomplete',
        message: expect.stringContaining('was replaced just now'),
      }),
    );
    expect(existsSync(`${file}-wal`)).toBe(false);
    expect((await restore(backup)).code).toBe(0);
    expect(keptIn(dir)).toHaveLength(1);
  });

  test('for what is no backup, or a damaged one', async () => {
    const { restore, cwd, dir, file, backup, latest } = await setup();
    const damaged = join(cwd, 'damaged.db');
    const bytes = readFileSync(backup);
    const [{ page } = { page: 0 }] = read<{ page: number }>(
      backup,
      `SELECT rootpage AS page FROM sqlite_master WHERE name = '_ai_signals_rows'`,
    );
    writeFileSync(damaged, bytes.fill(0xff, (page - 1) * 4_096, page * 4_096));
    const other = join(cwd, 'other.db');
    const connection = openConnection(other);
    connection.exec('CREATE TABLE mine (x)');
    connection.close();
    writeFileSync(join(cwd, 'text.db'), 'no database at all, but a text of some length');
    for (const [name, code, words] of [
      [damaged, 74, 'is damaged, or no backup of a mirror: restore another one'],
      [join(cwd, 'text.db'), 74, 'is damaged'],
      [other, 64, 'is no backup of a mirror'],
      [join(cwd, 'none.db'), 64, 'there is no such file'],
      [file, 64, 'is the mirror itself'],
    ] as const)
      expect(await restore(name)).toMatchObject({ code, stderr: expect.stringContaining(words) });
    expect([idsOf(file), keptIn(dir)]).toEqual([latest, []]);
    expect(readdirSync(dir).filter((name) => name.includes('restoring'))).toEqual([]);
  });
});

/** The backup has a key that was revoked since, and a link to the page. */
async function setupKeys() {
  const bench = await setup();
  const { run, backup } = bench;
  const keys = async (...args: string[]) => JSON.parse((await run(['keys', ...args, '--json'])).stdout);
  const leaked = await keys('create', '--name', 'leaked', '--quota', '100/1h');
  const sessions = openSessions(bench.dir, 0);
  sessions.issueLink(bench.clock.now());
  sessions.close();
  rmSync(backup);
  await run(['backup', backup]);
  bench.clock.advance(1_000);
  await keys('revoke', leaked.id);
  return { ...bench, leaked, keys };
}

describe('keys and limits', () => {
  test('stay as they are: what was revoked since stays revoked', async () => {
    const { restore, keys, backup } = await setupKeys();
    const before = await keys('list');
    expect(before).toMatchObject([{ name: 'leaked', status: 'revoked' }]);
    expect((await restore(backup)).stdout).toContain('keys and limits of serve stay as they are');
    expect(await keys('list')).toEqual(before);
  });

  test('are those of the backup where there are none, but for links and sessions', async () => {
    const { cwd, run, backup, leaked } = await setupKeys();
    const MIRROR_DIR = join(cwd, 'another machine');
    const { code, stdout } = await run(['restore', backup], { MIRROR_DIR });
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining('keys and limits of serve are those of the backup'),
    ]);
    const listed = JSON.parse((await run(['keys', 'list', '--json'], { MIRROR_DIR })).stdout);
    expect(listed).toMatchObject([{ id: leaked.id, status: 'active' }]);
    expect(read(join(MIRROR_DIR, 'serve.db'), 'SELECT 1 FROM page_tokens')).toEqual([]);
  });
});

test('killed after any step it has lost nothing, no command begins anew, and restoring again ends well', async () => {
  const { cwd, environment, clock, dir, backup, leaked, run } = await setupKeys();
  // What a kill leaves is what is on the disk then; its locks go with the process.
  const states: { step: string; MIRROR_DIR: string }[] = [];
  const step = (done: string) => {
    const MIRROR_DIR = join(cwd, `killed-${states.length}`);
    cpSync(dir, MIRROR_DIR, { recursive: true });
    states.push({ step: done, MIRROR_DIR });
  };
  // A damaged mirror has the most parts to move.
  writeFileSync(join(dir, 'mirror.db'), 'damaged');
  writeFileSync(join(dir, 'mirror.db-wal'), 'its log');
  const signal = new AbortController().signal;
  await restore(backup, { step }, { environment, clock, signal });
  expect(states.map(({ step }) => step)).toEqual([
    'copied',
    ...['kept mirror.db', 'kept mirror.db-wal', 'put mirror.db in place'],
  ]);
  for (const { step, MIRROR_DIR } of states) {
    const everything = () =>
      readdirSync(MIRROR_DIR, { recursive: true, encoding: 'utf8' }).map((name) => name.split('/').at(-1));
    expect(everything(), step).toEqual(expect.arrayContaining(['mirror.db', 'mirror.db-wal', 'serve.db']));
    const looked = await run(['query', 'SELECT count(*) AS n FROM ai_signals', '--format', 'csv'], {
      MIRROR_DIR,
    });
    expect([step, looked.code]).toEqual([step, step.startsWith('put') ? 0 : 74]);
    clock.advance(1_000);
    expect(await run(['restore', backup], { MIRROR_DIR }), step).toMatchObject({ code: 0 });
    expect(idsOf(join(MIRROR_DIR, 'mirror.db'))).toEqual(idsOf(backup));
    const revoked = read<{ id: string }>(
      join(MIRROR_DIR, 'serve.db'),
      'SELECT id FROM keys WHERE revoked_at IS NOT NULL',
    );
    expect([step, ...revoked.map(({ id }) => id)]).toEqual([step, leaked.id]);
    expect(everything().filter((name) => name?.includes('restoring'))).toEqual([]);
  }
});
