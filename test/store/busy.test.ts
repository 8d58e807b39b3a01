/** A program that is not ours holds the write lock of the mirror. */

import { expect, onTestFinished, test } from 'vitest';
import { mirror as walk } from '../../src/mirror.ts';
import { Database } from '../../src/store/sqlite.ts';
import { openStore } from '../../src/store.ts';
import { setup } from '../helpers/setup.ts';
import { keepFor } from './support.ts';

const DAY = 86_400_000;

/** @returns what lets the lock go. */
function holdWriteLock(file: string): () => void {
  const foreign = new Database(file);
  foreign.exec('BEGIN IMMEDIATE');
  onTestFinished(() => void foreign.close());
  return () => void foreign.exec('ROLLBACK');
}

test('what follows a finished walk waits for the next one, and what was walked stays', async () => {
  const { dir, jobs, job, clock, mirror, sql, store } = await setup({ rows: 20 });
  for (let walked = 0; walked < 2; walked += 1) {
    await mirror('ai-signals');
    clock.advance(2 * DAY);
  }
  const hasty = openStore(dir, jobs, clock.now, 20);
  onTestFinished(() => hasty.close());
  const keep = keepFor({ records: 1, history: 1 });
  const letGo = holdWriteLock(store.file);
  hasty.prune(job('ai-signals'), keep);
  hasty.keepNextDue('ai-signals', clock.now());
  const calls = 'SELECT count(*) AS calls FROM requests';
  expect(sql(calls)).toEqual([{ calls: 2 }]);
  // What is no housekeeping says that it was not done.
  expect(() => hasty.openWalk(job('news'))).toThrow(expect.objectContaining({ kind: 'incomplete' }));
  letGo();
  hasty.prune(job('ai-signals'), keep);
  expect(sql(calls)).toEqual([{ calls: 1 }]);
});

test('a walk that finds the lock held stays at its place for another try: 75', async () => {
  const { dir, jobs, job, api, clock, model, mirror, store, sql } = await setup({ rows: 250 });
  const hasty = openStore(dir, jobs, clock.now, 20);
  onTestFinished(() => hasty.close());
  let letGo = () => {};
  let calls = 0;
  model.beforeAnswer = () => {
    calls += 1;
    if (calls === 2) letGo = holdWriteLock(store.file);
  };
  const kept = walk(job('ai-signals'), { api, store: hasty }, new AbortController().signal);
  await expect(kept).rejects.toMatchObject({
    kind: 'incomplete',
    message: `${store.file}: another process keeps the database busy; try again`,
  });
  letGo();
  expect(sql('SELECT count(*) AS rows FROM ai_signals')).toEqual([{ rows: 100 }]);
  expect(await mirror('ai-signals')).toMatchObject({ id: 1, status: 'complete', rows: 250 });
  // The window of two pages that could not be saved comes once more.
  expect(model.calls).toHaveLength(5);
});
