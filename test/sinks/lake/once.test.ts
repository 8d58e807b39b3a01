import { existsSync, mkdirSync, readdirSync, rmdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { DAY_MS } from '../../../src/clock.ts';
import { findJob, listJobs } from '../../../src/job-list.ts';
import { nameProcess } from '../../../src/process-name.ts';
import { positionOf } from '../../../src/sinks/follow.ts';
import { loadDataset } from '../../../src/sinks/lake/dataset.ts';
import { openDisk, type Storage } from '../../../src/sinks/lake/storage.ts';
import { type Identity, identityOf, openMirror } from '../../../src/store/read.ts';
import { Database } from '../../../src/store/sqlite.ts';
import { temporaryFolder } from '../../helpers/folder.ts';
import { edit } from '../edit.ts';
import { expectEqual, setupMirrored } from './bench.ts';

test('lakes that come to one range at the same moment put it there once', async () => {
  const { sync, lake, there, file, model, clock } = await setupMirrored(12);
  expect((await Promise.all([lake(), lake(), lake()])).map(({ code }) => code)).toEqual([0, 0, 0]);
  edit({ model, clock }, 1);
  await sync();
  const ended = await Promise.all([lake(), lake(), lake()]);
  expect(ended.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(readdirSync(join(there, 'ai_signals/changes'))).toEqual(['course=1']);
  await expectEqual(file, there);
});

/** A dataset to be loaded into a lake that has been begun, in steps that a test can see. */
async function datasetIn(bench: Awaited<ReturnType<typeof setupMirrored>>, name: string) {
  const { lake, there, clock, environment } = bench;
  await lake('usage');
  const job = findJob(await listJobs(), name);
  const connection = openMirror(environment.MIRROR_DIR);
  onTestFinished(() => void connection.close());
  const identity = identityOf(connection) as Identity;
  const parts = { connection, identity, job, now: clock.now(), keepMs: Number.POSITIVE_INFINITY };
  return { ...parts, storage: openDisk(there) };
}

/** The storage, where `before` is done before the first file of Parquet is put there. */
function disturbed(storage: Storage, before: () => Promise<void>): Storage {
  let isDone = false;
  const put: Storage['put'] = async (path, make) => {
    if (path.endsWith('.parquet') && !isDone) {
      isDone = true;
      await before();
    }
    return await storage.put(path, make);
  };
  return { ...storage, put };
}

test('one that was overtaken by a lake goes on where that one has ended', async () => {
  const bench = await setupMirrored(12);
  const { sync, lake, there, file, clock } = bench;
  const dataset = await datasetIn(bench, 'ai-signals');
  const storage = disturbed(dataset.storage, async () => {
    edit(bench, 1);
    await sync('ai-signals');
    expect((await lake()).code).toBe(0);
    clock.advance(1_000);
    edit(bench, 2);
    await sync('ai-signals');
  });
  const loaded = await loadDataset({ ...dataset, storage });
  expect(loaded).toMatchObject({ seq: positionOf(dataset.connection, dataset.job).seq, changes: 2 });
  expect(loaded.files).toHaveLength(1);
  expect(readdirSync(join(there, 'ai_signals/changes'))).toEqual(['course=1']);
  await expectEqual(file, there);
});

test('changes that the mirror forgets while their file is made are not put there as if they were all', async () => {
  const bench = await setupMirrored(12);
  const dataset = await datasetIn(bench, 'ai-signals');
  const storage = disturbed(dataset.storage, async () => {
    new Database(bench.file).exec(`UPDATE _datasets SET history_from = '2999-01-01T00:00:00.000Z'`).close();
  });
  await expect(loadDataset({ ...dataset, storage })).rejects.toMatchObject({ kind: 'incomplete' });
  expect((await dataset.storage.list('ai_signals/changes/course=1')).folders).toEqual([]);
});

test('the receipt of a snapshot goes last, and a folder of others stays', async () => {
  const bench = await setupMirrored(12);
  const dataset = await datasetIn(bench, 'news');
  const folder = join(bench.there, 'news/snapshots');
  for (const day of ['date=2020-01-01', 'date=2020-01-02', 'olddate=2020-01-01']) {
    mkdirSync(join(folder, day), { recursive: true });
    for (const name of ['_news.json', 'news.parquet']) writeFileSync(join(folder, day, name), '');
  }
  mkdirSync(join(bench.there, 'news/changes/notes'), { recursive: true });
  const removed: string[] = [];
  const remove = async (path: string) => void removed.push(path);
  const storage = { ...dataset.storage, remove };
  const loaded = await loadDataset({ ...dataset, storage, keepMs: DAY_MS });
  const days = ['date=2020-01-01', 'date=2020-01-02'].map((day) => `news/snapshots/${day}`);
  expect(loaded.removed).toEqual(days);
  expect(removed).toEqual(days.flatMap((day) => [`${day}/news.parquet`, `${day}/_news.json`]));
  expect(readdirSync(join(bench.there, 'news/changes')).sort()).toEqual(['course=1', 'notes']);
});

test('a lake where a file stands is refused in one line', async () => {
  const { lake, there } = await setupMirrored(3);
  writeFileSync(there, 'a file');
  const { code, stderr } = await lake();
  expect([code, stderr.trim().split('\n').length]).toEqual([74, 1]);
  expect(stderr).toContain('ENOTDIR');
});

test('a file that a killed lake left a day ago is removed by the next lake, and not by --check, which writes nothing', async () => {
  const { lake, there } = await setupMirrored(3);
  await lake();
  const left = join(there, '_partial/left.partial');
  writeFileSync(left, '');
  utimesSync(left, 0, 0);
  expect((await lake('--check')).code).toBe(0);
  expect(existsSync(left)).toBe(true);
  expect((await lake()).code).toBe(0);
  expect(existsSync(left)).toBe(false);
  // Not even the owner of all files removes a folder as a file.
  mkdirSync(left);
  utimesSync(left, 0, 0);
  expect(await lake()).toMatchObject({ code: 74, stderr: expect.stringContaining('left.partial cannot be') });
  rmdirSync(left);
  expect((await lake()).code).toBe(0);
});

test('a file of a process that has ended is removed at once, one of a process that lives stays', async () => {
  const { lake, there } = await setupMirrored(3);
  await lake();
  const [host, , ...rest] = nameProcess(() => 0.5).split(':');
  const fileOf = (pid: number) => join(there, `_partial/${[host, pid, ...rest].join(':')}.partial`);
  const [ended, living] = [fileOf(2 ** 30), fileOf(process.pid)];
  for (const file of [ended, living]) writeFileSync(file, '');
  expect((await lake()).code).toBe(0);
  expect([ended, living].map(existsSync)).toEqual([false, true]);
});

test('a file on its way has the name of its process', async () => {
  const storage = openDisk(temporaryFolder());
  let names: string[] = [];
  await storage.put('one', () => {
    names = readdirSync(storage.spoolFolder);
  });
  expect(names).toEqual([expect.stringMatching(new RegExp(`^[^:]+:${process.pid}:.*\\.partial$`))]);
});
