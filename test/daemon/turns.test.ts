import { describe, expect, it } from 'vitest';
import type { DayPlan } from '../../src/report/plan.ts';
import { setupSync } from '../helpers/sync-bench.ts';
import { live } from '../helpers/virtual-life.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Twice as many calls as there are. */
const settings = {
  MIRROR_SCHEDULE_AI_SIGNALS: 'every 3m',
  MIRROR_SCHEDULE_NEWS: 'every 10m',
  MIRROR_SCHEDULE_SMART_WALLETS: 'off',
  MIRROR_SCHEDULE_MEME_SIGNALS: 'off',
  MIRROR_SCHEDULE_USAGE: 'off',
};

const longest = (ages: number[] = []) => Math.max(...ages);

describe('where the schedules ask for more calls than there are', () => {
  it('each dataset is held to the age that the plan says, and the calls are all used', async () => {
    const bench = await setupSync({ rows: 101, quota: { limit: 20, periodMs: HOUR } });
    const untaught = await live(bench, settings, 3 * HOUR);
    // Before the period is known, the calls are gone in half an hour, and the rest of the hour passes without.
    expect(longest(untaught['ai-signals'])).toBeGreaterThan(25 * MINUTE);

    const plan = JSON.parse((await bench.run(['plan', '--json'], settings)).stdout) as DayPlan;
    expect(plan.stretch).toBeGreaterThan(1);
    const held = (job: string) =>
      (plan.datasets.find((dataset) => dataset.job === job)?.heldToSeconds ?? 0) * 1_000;
    expect(held('ai-signals')).toBeLessThan(10 * MINUTE);
    const before = bench.model.calls.length;
    const ages = await live(bench, settings, 3 * HOUR);
    for (const job of ['ai-signals', 'news']) {
      const mean = (ages[job] ?? []).reduce((sum, age) => sum + age, 0) / (ages[job]?.length ?? 0);
      expect(mean / held(job)).toBeGreaterThan(0.8);
      expect(mean / held(job)).toBeLessThan(1.2);
      expect(longest(ages[job])).toBeLessThan(2.5 * held(job));
    }
    expect(bench.model.calls.length - before).toBeGreaterThanOrEqual(3 * 18);
  }, 60_000);
});

it('where there are enough, nothing waits for its turn', async () => {
  const bench = await setupSync({ rows: 30, quota: { limit: 200, periodMs: HOUR } });
  const ages = await live(bench, settings, 2.5 * HOUR);
  expect(longest(ages['ai-signals'])).toBeLessThan(3 * MINUTE + 5_000);
  expect(longest(ages['news'])).toBeLessThan(10 * MINUTE + 5_000);
});
