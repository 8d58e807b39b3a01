import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { expect, test } from 'vitest';
import { setup } from '../helpers/setup.ts';

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
    choice: () => store.choice('news'),
    'changes of a walk': () => store.changes.of(job('ai-signals'), walk),
    'changes since': () => store.changes.since(job('ai-signals'), 0),
    keepNextDue: () => store.keepNextDue('news', clock.now()),
    openWalk: () => store.openWalk(job('ai-signals')),
  };
  for (const [name, read] of Object.entries(reads))
    expect(read, name).toThrow(expect.objectContaining({ kind: 'disk' }));
});
