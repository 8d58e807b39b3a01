import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startCli } from '../helpers/cli.ts';
import { setup } from '../helpers/setup.ts';
import { setupSync } from '../helpers/sync-bench.ts';

test('a disk that has no room for the index of the log can still be read', async () => {
  const { cwd, environment, sync, run } = await setupSync({ rows: 5 });
  expect((await sync('usage')).code).toBe(0);
  // No file may grow: nobody has the mirror open, so whoever is first would have to make its index.
  const cramped = (...args: string[]) => startCli(args, environment, cwd, `trap '' XFSZ; ulimit -f 0;`).ended;
  const sql = 'SELECT count(*) AS rows FROM usage';
  expect(await cramped('query', '--json', sql)).toMatchObject({ code: 0, stdout: '[\n{"rows":1}\n]\n' });
  expect((await cramped('status', '--json')).code).toBe((await run(['status'])).code);
  const { code, stderr } = await cramped('sync', 'usage');
  expect([code, stderr]).toEqual([
    74,
    expect.stringMatching(/the disk is full, over quota or broken: see df, quota and dmesg\n$/),
  ]);
});

test('reading a database that was damaged meanwhile fails as the disk does, whatever is read', async () => {
  const bench = await setup({ rows: 20 });
  const { mirror, job, clock } = bench;
  const walk = await mirror('ai-signals');
  await mirror('news');
  bench.reopen();
  const { store } = bench;
  const file = openSync(store.file, 'r+');
  const { size } = statSync(store.file);
  writeSync(file, Buffer.alloc(size - 4_096, 7), 0, size - 4_096, 4_096);
  closeSync(file);

  const reads: Record<string, () => unknown> = {
    lastRun: () => store.lastRun('ai-signals'),
    completeAsOf: () => store.completeAsOf('ai-signals'),
    forget: () => store.forget(job('news')),
    'changes of a walk': () => store.changes.of(job('ai-signals'), walk),
    'changes since': () => store.changes.since(job('ai-signals'), 0),
    keepNextDue: () => store.keepNextDue('news', clock.now()),
    openWalk: () => store.openWalk(job('ai-signals')),
  };
  for (const [name, read] of Object.entries(reads))
    expect(read, name).toThrow(expect.objectContaining({ kind: 'disk' }));
});
