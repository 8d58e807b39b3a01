import { expect, onTestFinished, test } from 'vitest';
import { faults } from '../../../model-api/index.ts';
import { openTally } from '../../../src/serve/service/metrics.ts';
import { openReadOnly } from '../../../src/store/connection.ts';
import type { Bench } from '../../helpers/mirror-bench.ts';
import { setup } from '../../helpers/setup.ts';

function tallyOf(bench: Bench) {
  const connection = openReadOnly(bench.store.file);
  onTestFinished(() => void connection.close());
  return openTally(
    connection,
    bench.jobs.map(({ name }) => name),
  );
}

const nothing = { calls: [], runs: [] };

test('what was there before is not told, what comes is told once', async () => {
  const bench = await setup({ rows: 250 });
  await bench.mirror('news');
  const tally = tallyOf(bench);
  expect(tally()).toEqual(nothing);
  await bench.mirror('usage');
  await bench.glance('news');
  expect(tally()).toEqual({
    calls: [
      { job: 'news', status: 200, count: 1 },
      { job: 'usage', status: 200, count: 1 },
    ],
    runs: [
      { job: 'usage', kind: 'walk', status: 'complete', verdict: 'snapshot' },
      { job: 'news', kind: 'glance', status: 'complete', verdict: null },
    ],
  });
  expect(tally()).toEqual(nothing);
});

test('a walk is told when it ends, however often it was looked at before, and also where it had begun', async () => {
  const bench = await setup({ rows: 450 });
  const stop = new AbortController();
  await bench.mirror('news', () => stop.abort(), stop.signal).catch(() => undefined);
  const tally = tallyOf(bench);
  const during: number[] = [];
  await bench.mirror('news', () => during.push(tally().runs.length));
  expect(during.length).toBeGreaterThan(2);
  expect(Math.max(...during)).toBe(0);
  expect(tally().runs).toEqual([{ job: 'news', kind: 'walk', status: 'complete', verdict: 'verified' }]);
  await bench.mirror('news');
  expect(tally().runs).toHaveLength(1);
});

test('a call without an answer, and one that was refused, are told as such', async () => {
  const bench = await setup({ rows: 5 });
  const tally = tallyOf(bench);
  bench.model.faults = [() => [faults.refuse(403)]];
  await bench.mirror('news').catch(() => undefined);
  bench.tamper(`INSERT INTO requests (at, job, url, status, ms, bytes) VALUES ('', 'news', '/', NULL, 1, 0)`);
  expect(tally().calls).toEqual([
    { job: 'news', status: null, count: 1 },
    { job: 'news', status: 403, count: 1 },
  ]);
});

test('pruning tells nothing twice, and loses nothing that comes after it', async () => {
  const bench = await setup({ rows: 5 });
  for (const _ of [1, 2, 3]) await bench.mirror('news');
  const tally = tallyOf(bench);
  bench.tamper('DELETE FROM requests');
  expect(tally().calls).toEqual([]);
  await bench.mirror('usage');
  expect(tally().calls).toEqual([{ job: 'usage', status: 200, count: 1 }]);
});

test('more than one look can bear is told by several', async () => {
  const bench = await setup({ rows: 5 });
  const tally = tallyOf(bench);
  bench.tamper(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 45000)
    INSERT INTO requests (at, job, url, status, ms, bytes) SELECT '', 'news', '/', 200, 1, 1 FROM n`);
  const counts = [1, 2, 3, 4].map(() => tally().calls[0]?.count);
  expect(counts).toEqual([20_000, 20_000, 5_000, undefined]);
});
