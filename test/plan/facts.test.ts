import { expect, it } from 'vitest';
import { type Facts, readFacts } from '../../src/plan/facts.ts';
import { openReadOnly } from '../../src/store/connection.ts';
import { change, type Edit, insert, publish } from '../helpers/edits.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';

const HOUR = 3_600_000;
const job = 'news';

function factsOf(bench: Bench, name = job): Facts {
  const connection = openReadOnly(bench.store.file);
  try {
    return readFacts(connection, name, bench.job(name).rows);
  } finally {
    connection.close();
  }
}

/** An hour passes, rows are edited, and the mirror looks. */
async function look(bench: Bench, kind: 'mirror' | 'glance', ...edits: Edit[]): Promise<void> {
  bench.clock.advance(HOUR);
  for (const edit of edits) edit(bench.upstream(job));
  await bench[kind](job);
}

it('three walks that found their new rows in the head make it worth glances', async () => {
  const bench = await setup({ rows: 450 });
  expect(factsOf(bench).head).toMatchObject({ walks: 0, why: 'few-walks' });
  await look(bench, 'mirror');
  await look(bench, 'mirror', insert(0, 4));
  expect(factsOf(bench).head).toMatchObject({ walks: 2, new: 4, inHead: 4, why: 'few-walks' });
  await look(bench, 'mirror', insert(0, 4));
  const { head } = factsOf(bench);
  expect(head).toMatchObject({ walks: 3, useful: true, why: 'in-head' });
  expect(head.inHead).toBe(8);
  await look(bench, 'mirror', insert(-1, 9), insert(200, 3));
  expect(factsOf(bench).head).toMatchObject({ walks: 4, useful: false, why: 'elsewhere' });
});

it('is learnt from the latest walks, however many glances lie between them', async () => {
  const bench = await setup({ rows: 450 });
  for (let walk = 0; walk < 4; walk += 1) {
    await look(bench, 'mirror', insert(0, 4));
    bench.tamper(
      `WITH RECURSIVE glances(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM glances WHERE n < 1500)
       INSERT INTO walks (job, kind, status, started_at, finished_at, api_calls)
       SELECT 'news', 'glance', 'complete', '2026-11-21T12:00:00.000Z', '2026-11-21T12:00:00.000Z', 1 FROM glances`,
    );
  }
  expect(factsOf(bench)).toMatchObject({
    calls: { changed: expect.any(Number) },
    head: { walks: 4, useful: true },
    observed: { walks: 3 },
  });
});

it('what glances brought counts as found in the head, once a walk has followed', async () => {
  const bench = await setup({ rows: 450 });
  await look(bench, 'mirror');
  await look(bench, 'mirror');
  await look(bench, 'mirror', insert(0, 2));
  expect(factsOf(bench)).toMatchObject({ head: { new: 2, why: 'few-rows' }, glanceCalls: 1 });
  await look(bench, 'glance', insert(0, 3));
  await look(bench, 'glance', insert(0, 120));
  expect(factsOf(bench).glanceCalls).toBe(1.5);
  await look(bench, 'mirror', insert(0, 1), insert(300, 2));
  expect(factsOf(bench).head).toMatchObject({ walks: 4, new: 128, inHead: 126, useful: true });
});

it('a glance reads three pages at most; where it met no known row, a walk is due', async () => {
  const bench = await setup({ rows: 450 });
  await look(bench, 'mirror');
  await look(bench, 'glance', insert(0, 3));
  expect(bench.store.lacksWalk(job)).toBe(false);
  await look(bench, 'glance', insert(0, 400));
  expect(factsOf(bench).glanceCalls).toBe(2);
  expect(bench.store.lacksWalk(job)).toBe(true);
  await look(bench, 'mirror');
  expect(bench.store.lacksWalk(job)).toBe(false);
});

it('glances count neither as walks nor for what a walk costs', async () => {
  const bench = await setup({ rows: 450 });
  await look(bench, 'mirror');
  await look(bench, 'mirror', change(3, { headline: 'changed' }));
  const before = factsOf(bench);
  expect(before).toMatchObject({ calls: { changed: 6, unchanged: 6 }, observed: { walks: 1, changed: 1 } });
  for (let glances = 0; glances < 6; glances += 1) await look(bench, 'glance');
  expect(factsOf(bench)).toMatchObject({ calls: before.calls, observed: before.observed });
});

it('what a whole walk costs is known behind any number of renewals', async () => {
  const bench = await setup({ rows: 250 });
  for (let walk = 0; walk < 24; walk += 1) {
    bench.clock.advance(HOUR / 3);
    await bench.mirror('ai-signals');
  }
  expect(factsOf(bench, 'ai-signals')).toMatchObject({
    calls: { changed: 3, unchanged: 1 },
    head: { why: 'published' },
    observed: { walks: 20, changed: 0, whole: 0 },
  });
});

it('a dataset that is published whole needs no glances, nor does one that is no list', async () => {
  const bench = await setup({ rows: 250 });
  const signals = bench.upstream('ai-signals');
  for (const hour of [1, 2, 3]) {
    insert(0, 9)(signals);
    publish(`2026-01-01T0${hour}:00:00.000Z`)(signals);
    await bench.mirror('ai-signals');
    await bench.mirror('usage');
    bench.clock.advance(HOUR);
  }
  expect(factsOf(bench, 'ai-signals').head).toMatchObject({ walks: 3, useful: false, why: 'published' });
  expect(factsOf(bench, 'usage').head).toMatchObject({ walks: 3, useful: false, why: 'published' });
});
