import { describe, expect, it } from 'vitest';
import { type PlannedJob, plan } from '../../src/governor/plan.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const signals: PlannedJob = {
  name: 'ai-signals',
  targetMs: 2 * MINUTE,
  weight: 3,
  changedCalls: 5,
  unchangedCalls: 1,
  changesPerDay: 96,
};
const news: PlannedJob = { ...signals, name: 'news', targetMs: 5 * MINUTE, weight: 1, changedCalls: 12 };

describe('the plan of a day', () => {
  it('counts one call for each walk that finds nothing new, and all pages for one that does', () => {
    const still = plan([{ ...signals, changesPerDay: 0 }], null, null);
    expect(still.calls).toBeCloseTo(720);
    const moving = plan([{ ...signals, changesPerDay: 1e9 }], null, null);
    expect(moving.calls).toBeCloseTo(720 * 5);
  });

  it('promises nothing of the quota where nothing is known of it', () => {
    expect(plan([signals], null, null)).toMatchObject({
      available: null,
      left: null,
      stretch: 1,
      chanceOfRunningDry: null,
    });
  });

  it('meets every target where the calls will do, and says what is left', () => {
    const made = plan([signals, news], { remaining: 0, perPeriod: 1_000, periodMs: HOUR }, 5);
    expect(made.stretch).toBe(1);
    expect(made.jobs.map((job) => job.everyMs)).toEqual([2 * MINUTE, 5 * MINUTE]);
    expect(made.left).toBeCloseTo(24_000 - made.calls);
    expect(made.chanceOfRunningDry).toBeLessThan(0.001);
  });

  it('stretches the targets until the calls fit, those of greater weight less', () => {
    const made = plan([signals, news], { remaining: 0, perPeriod: 500, periodMs: DAY }, 5);
    expect(made.calls).toBeCloseTo(500, 0);
    const [first, second] = made.jobs;
    const stretched = [(first?.everyMs ?? 0) / signals.targetMs, (second?.everyMs ?? 0) / news.targetMs];
    expect(stretched[1]).toBeGreaterThan(1);
    expect((stretched[1] ?? 0) / (stretched[0] ?? 0)).toBeCloseTo(3);
    expect(made.chanceOfRunningDry).toBeGreaterThan(0.999);
  });

  it('holds the data to one interval and the time of the walk itself', () => {
    const [held] = plan([news], null, 2).jobs;
    expect(held?.heldToMs).toBe(5 * MINUTE + 6_000);
  });

  it('gives an even chance where the calls are just those expected', () => {
    const { calls } = plan([signals, news], null, null);
    const made = plan([signals, news], { remaining: calls, perPeriod: 0, periodMs: 30 * DAY }, null);
    expect(made.chanceOfRunningDry).toBeCloseTo(0.5, 1);
  });
});
