import { describe, expect, it } from 'vitest';
import type { PlanJson } from '../../src/plan.ts';
import { insert, publish } from '../helpers/edits.ts';
import { setupSync } from '../helpers/sync-bench.ts';
import { live, othersOff } from '../helpers/virtual-life.ts';
import { digestOf } from '../reading/support.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Two datasets alone. */
const settings = {
  MIRROR_SCHEDULE_AI_SIGNALS: 'every 20m',
  MIRROR_SCHEDULE_NEWS: 'every 1h',
  ...othersOff,
};

type Bench = Awaited<ReturnType<typeof setupSync>>;

async function planOf({ run }: Bench, changes: Record<string, string> = {}) {
  const { code, stdout, stderr } = await run(['plan', '--json'], { ...settings, ...changes });
  expect([code, stderr]).toEqual([0, '']);
  const plan = JSON.parse(stdout) as PlanJson;
  return { ...plan, dataset: (job: string) => plan.datasets.find((dataset) => dataset.job === job) };
}

const textOf = async ({ run }: Bench, changes: Record<string, string> = {}) =>
  (await run(['plan'], { ...settings, ...changes })).stdout;

/** Two new signals every two hours. */
function liveSignals({ model, clock }: Bench) {
  const { aiSignals } = model.data;
  let published = clock.now();
  return (now: number) => {
    if (now < published + 2 * HOUR) return;
    published = now;
    insert(0, 2)(aiSignals);
    publish(new Date(now).toISOString())(aiSignals);
  };
}

describe('the plan of a mirror that has lived', () => {
  it('says what the next day will take, and where the calls for it come from', async () => {
    const bench = await setupSync({ rows: 130, quota: { limit: 60, periodMs: HOUR } });
    const edit = liveSignals(bench);
    await live(bench, settings, 6 * HOUR, edit);
    const [before, digest] = [bench.model.calls.length, digestOf(bench.file)];

    const plan = await planOf(bench);
    expect(plan).toMatchObject({ version: 1, schedules: 'kept', unknown: [] });
    expect(plan.dataset('ai-signals')).toMatchObject({
      state: 'planned',
      runs: 72,
      walks: 72,
      callsIfChanged: 2,
      callsIfUnchanged: 1,
      observed: { walks: 17, changed: 2, whole: 2 },
      targetSeconds: 1_200,
    });
    expect(plan.dataset('ai-signals')?.heldToSeconds).toBeGreaterThanOrEqual(1_200);
    expect(plan.dataset('news')).toMatchObject({ walks: 24, callsIfChanged: 3, callsIfUnchanged: 3 });
    expect(plan.dataset('usage')).toMatchObject({ state: 'off', walks: 0, calls: 0, everySeconds: null });
    expect(plan.available).toBeGreaterThan(23 * 60);
    expect(plan.left).toBeCloseTo((plan.available ?? 0) - plan.calls, 0);
    expect([bench.model.calls.length, digestOf(bench.file)]).toEqual([before, digest]);

    await live(bench, settings, 6 * HOUR, edit);
    const taken = 4 * (bench.model.calls.length - before);
    expect(Math.abs(taken - plan.calls) / taken).toBeLessThan(0.1);
  });
});

describe('the plan says what is not known', () => {
  it('of a quota that was never reported, and of datasets that were never walked', async () => {
    const bench = await setupSync();
    await bench.sync('news');
    const plan = await planOf(bench);
    expect(plan).toMatchObject({ available: null, left: null, schedules: 'unknown' });
    expect(plan.unknown).toEqual([
      { job: null, why: 'the API has not reported any quota yet' },
      { job: 'ai-signals', why: 'no walk has ended yet: its calls are not counted' },
    ]);
    expect(plan.dataset('ai-signals')).toMatchObject({ state: 'unknown', walks: null, calls: null });
    expect(plan.calls).toBe(plan.dataset('news')?.calls);
    expect(await textOf(bench)).toMatch(/^\? ai-signals: no walk has ended yet/m);
  });
});
