import { expect, it } from 'vitest';
import type { PlanJson } from '../../src/plan.ts';
import { setupSync } from '../helpers/sync-bench.ts';
import { othersOff } from '../helpers/virtual-life.ts';

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

it('the plan says what is not known of a quota that was never reported, and of datasets that were never walked', async () => {
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
