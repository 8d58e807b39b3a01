import { statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { copyLog } from '../../src/store/commits.ts';
import { openConnection, openReadOnly } from '../../src/store/connection.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';

const MB = 1_000_000;

/** Another connection: what it writes lies in the log. */
function openWriter({ store }: Bench) {
  const writer = openConnection(store.file);
  onTestFinished(() => void writer.close());
  writer.exec('CREATE TABLE ballast (bytes BLOB)');
  return (megabytes: number) =>
    void writer
      .prepare('INSERT INTO ballast SELECT randomblob(?) FROM json_each(?)')
      .run(MB, JSON.stringify(Array(megabytes).fill(0)));
}

/** A reader of the mirror as it stands now. */
function openReader({ store }: Bench) {
  const reader = openReadOnly(store.file);
  onTestFinished(() => void reader.close());
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM walks').get();
  return () => void reader.exec('COMMIT');
}

test('the log is cut back as it begins anew, once no reader holds what it has grown to', async () => {
  const bench = await setup({ rows: 1 });
  const write = openWriter(bench);
  const leave = openReader(bench);
  write(40);
  expect(bench.store.logBytes()).toBeGreaterThan(40 * MB);
  leave();
  for (let commit = 0; commit < 3; commit += 1) write(1);
  expect(bench.store.logBytes()).toBeLessThan(17 * MB);
});

test('a long log is copied into the database in the turn after the next, behind the commit', async () => {
  const bench = await setup({ rows: 1 });
  const connection = openConnection(bench.store.file);
  onTestFinished(() => void connection.close());
  const write = openWriter(bench);
  const left = () => {
    const [{ log, checkpointed }] = connection.pragma('wal_checkpoint(NOOP)') as [Record<string, number>];
    return Number(log) - Number(checkpointed);
  };
  write(10);
  void copyLog(connection);
  await setImmediate();
  expect(left()).toBeGreaterThan(2_000);
  write(5);
  void copyLog(connection);
  await setImmediate();
  expect(left()).toBeGreaterThan(3_000);
  await setImmediate();
  expect(left()).toBe(0);
});

test('an idle store empties the log, and waits for no reader', async () => {
  const bench = await setup({ rows: 1 });
  const write = openWriter(bench);
  const leave = openReader(bench);
  write(3);
  const began = performance.now();
  await bench.store.emptyLog();
  expect(performance.now() - began).toBeLessThan(4_000);
  expect(bench.store.logBytes()).toBeGreaterThan(3 * MB);
  // It waits for other writers as long as ever.
  write(1);
  leave();
  await bench.store.emptyLog();
  expect(bench.store.logBytes()).toBe(0);
});

test('the log is copied in one turn of the event loop and cut in the next, neither of them that of the commit before', async () => {
  const bench = await setup({ rows: 1 });
  openWriter(bench)(3);
  const log = `${bench.store.file}-wal`;
  const before = statSync(bench.store.file).mtimeMs;
  const emptied = bench.store.emptyLog();
  expect(statSync(bench.store.file).mtimeMs).toBe(before);
  await setImmediate();
  expect(statSync(bench.store.file).mtimeMs).toBeGreaterThan(before);
  expect(statSync(log).size).toBeGreaterThan(3 * MB);
  await emptied;
  expect(statSync(log).size).toBe(0);
});

test('a process that ends beside others leaves the log empty', async () => {
  const bench = await setup({ rows: 1 });
  const write = openWriter(bench);
  write(3);
  const log = `${bench.store.file}-wal`;
  bench.reopen();
  expect(statSync(log).size).toBeLessThan(MB);
});
