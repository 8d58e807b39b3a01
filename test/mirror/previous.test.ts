import { describe, expect, it } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import { both, change, editBefore, insert, move, publish, remove } from '../helpers/edits.ts';
import type { BenchOptions } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';
import { mirroredRows, upstreamRows } from '../helpers/truth.ts';

const ROWS = 360;
const FULL = 4;
const HOUR = 3_600_000;
const job = 'ai-signals';

const setupProven = (options: BenchOptions = {}) => setup({ rows: ROWS, walked: [job], ...options });

describe('a snapshot that was proven', () => {
  it('is proven again by one call while nothing changes', async () => {
    const bench = await setupProven();
    bench.clock.advance(HOUR);
    const renewed = { verdict: 'snapshot', apiCalls: 1, renewalOf: 1, error: null };
    expect(await bench.mirror(job)).toMatchObject({ id: 2, ...renewed });
    bench.clock.advance(HOUR);
    expect(await bench.mirror(job)).toMatchObject({ id: 3, ...renewed });
    expect(bench.sql('SELECT complete_as_of FROM freshness WHERE job = ?', job)).toEqual([
      { complete_as_of: new Date(bench.clock.now()).toISOString() },
    ]);
  });

  it('is proven again by one call though volatile columns changed, which are kept current', async () => {
    const bench = await setupProven({ faults: [when({}, faults.ageing())] });
    const { id } = bench.upstream(job).rows[0] ?? {};
    const age = () => Number(mirroredRows(bench, job).get(String(id))?.['quality_age_seconds']);
    const before = age();
    bench.clock.advance(HOUR);
    expect(await bench.mirror(job)).toMatchObject({ apiCalls: 1, updated: 0 });
    expect(age()).toBe(before + HOUR / 1_000);
    expect(bench.sql('SELECT * FROM ai_signals_history')).toEqual([]);
  });

  it('is proven again by one call though rows of it are refused', async () => {
    const bench = await setup({ rows: ROWS });
    change(7, { confidence: 'high' })(bench.upstream(job));
    await bench.mirror(job);
    expect(await bench.mirror(job)).toMatchObject({ verdict: 'snapshot', apiCalls: 1, quarantined: 1 });
  });

  it.each([
    ['generatedAt', publish('2026-01-02T03:04:05Z'), FULL],
    ['the total', remove(300), FULL],
    ['a row of the first page', change(7, { confidence: 0.123 }), FULL],
    ['the order of the first page', move(7, 8), FULL],
  ])('is walked again in full when %s changes, at no extra call', async (_, edit, calls) => {
    const bench = await setupProven();
    edit(bench.upstream(job));
    expect(await bench.mirror(job)).toMatchObject({ verdict: 'snapshot', apiCalls: calls, renewalOf: null });
    bench.upstream(job).generatedAt = '2026-01-02T03:04:06Z';
    for (let walk = 0; walk < 2; walk += 1) await bench.mirror(job);
    expect(mirroredRows(bench, job)).toEqual(upstreamRows(bench, job));
  });

  it('is walked in full once a day', async () => {
    const bench = await setupProven();
    const calls: number[] = [];
    for (let hour = 0; hour < 48; hour += 2) {
      bench.clock.advance(2 * HOUR);
      calls.push((await bench.mirror(job)).apiCalls);
    }
    expect(calls.filter((made) => made === FULL)).toHaveLength(2);
    expect(calls.filter((made) => made === 1)).toHaveLength(22);
    expect(calls.indexOf(FULL)).toBeLessThan(12);
  });

  it('is walked in full while rows are held, and takes no other row along', async () => {
    const bench = await setupProven();
    remove(200, 150)(bench.upstream(job));
    publish('2026-01-02T03:04:05Z')(bench.upstream(job));
    const walks = [];
    for (let walk = 0; walk < 3; walk += 1) walks.push(await bench.mirror(job));
    expect(walks.map(({ pages, apiCalls, held, deleted }) => ({ apiCalls, held, deleted, pages }))).toEqual([
      { apiCalls: 3, held: 150, deleted: 0, pages: 3 },
      { apiCalls: 3, held: 0, deleted: 150, pages: 3 },
      { apiCalls: 1, held: 0, deleted: 0, pages: 1 },
    ]);
  });

  it('is walked in full after a walk that proved nothing', async () => {
    const bench = await setupProven();
    bench.model.faults = [when({ nth: 2 }, faults.returnedOff(-1))];
    insert(0)(bench.upstream(job));
    expect(await bench.mirror(job)).toMatchObject({ verdict: 'union' });
    expect(await bench.mirror(job)).toMatchObject({ verdict: 'snapshot', apiCalls: FULL });
  });

  it('is walked in full where another one showed for a moment, whose rows came', async () => {
    const bench = await setupProven();
    const { rows, generatedAt } = bench.upstream(job);
    const [before] = rows.slice(150, 151);
    editBefore(bench, job, {
      1: both(change(150, { confidence: 0.123 }), publish('2026-01-02T03:04:05Z')),
      3: both(change(150, before ?? {}), publish(generatedAt)),
    });
    await bench.mirror(job);
    expect(mirroredRows(bench, job)).toEqual(upstreamRows(bench, job));
  });
});

describe('a dataset without generatedAt', () => {
  it.each([job, 'news'])('is never proven by its first page alone: %s', async (name) => {
    const bench = await setup({ rows: ROWS });
    publish(name === job ? null : undefined)(bench.upstream(name));
    await bench.mirror(name);
    expect(await bench.mirror(name)).toMatchObject({ verdict: 'verified', apiCalls: 5, renewalOf: null });
  });
});

it('a snapshot that is replaced within a window costs no call behind that', async () => {
  const bench = await setup({ rows: 1_300 });
  editBefore(bench, job, { 4: publish('2026-01-02T03:04:05Z') });
  expect(await bench.mirror(job)).toMatchObject({ verdict: 'snapshot', restarts: 1 });
  expect(bench.sql('SELECT count(*) AS calls FROM requests')).toEqual([{ calls: 1 + 4 + 13 }]);
});
