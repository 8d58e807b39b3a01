import { describe, expect, it } from 'vitest';
import { type PlannedJob, planDay, stretchUntilMore } from '../../src/plan/arithmetic.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const signals: PlannedJob = {
  name: 'ai-signals',
  runs: 720,
  longestMs: 2 * MINUTE,
  weight: 3,
  changedCalls: 5,
  unchangedCalls: 1,
  changesPerDay: 96,
  callMs: 0,
  drawsOnQuota: true,
};
const news: PlannedJob = {
  ...signals,
  name: 'news',
  runs: 288,
  longestMs: 5 * MINUTE,
  weight: 1,
  changedCalls: 12,
};
const hourly = { remaining: 1_000, nextInMs: HOUR, perPeriod: 1_000, periodMs: HOUR };

describe('the plan of a day', () => {
  it('counts one call for each walk that finds nothing new, and all pages for one that does', () => {
    const still = planDay([{ ...signals, changesPerDay: 0 }], null, null);
    expect(still.calls).toBeCloseTo(720);
    const moving = planDay([{ ...signals, changesPerDay: Number.POSITIVE_INFINITY }], null, null);
    expect(moving.calls).toBeCloseTo(720 * 5);
  });

  it('counts nothing of a job that is off or not due', () => {
    const off = { ...signals, runs: 0, longestMs: Number.POSITIVE_INFINITY };
    expect(planDay([off], hourly, 5)).toMatchObject({ calls: 0, left: 24_000, chanceOfRunningDry: 0 });
  });

  it('promises nothing of the quota where nothing is known of it', () => {
    expect(planDay([signals], null, null)).toMatchObject({
      available: null,
      left: null,
      stretch: 1,
      chanceOfRunningDry: null,
    });
  });

  it('meets every target where the calls will do, and says what is left', () => {
    const made = planDay([signals, news], hourly, 5);
    expect(made.stretch).toBe(1);
    expect(made.jobs.map((job) => job.everyMs)).toEqual([2 * MINUTE, 5 * MINUTE]);
    expect(made.left).toBeCloseTo(24_000 - made.calls);
    expect(made.chanceOfRunningDry).toBeLessThan(0.001);
  });

  it('stretches the targets until the calls fit, those of greater weight less', () => {
    const made = planDay([signals, news], { ...hourly, remaining: 500, nextInMs: DAY }, 5);
    expect(made.calls).toBeCloseTo(500, 0);
    const [first, second] = made.jobs;
    const stretched = [(first?.everyMs ?? 0) / (2 * MINUTE), (second?.everyMs ?? 0) / (5 * MINUTE)];
    expect(stretched[1]).toBeGreaterThan(1);
    expect((stretched[1] ?? 0) / (stretched[0] ?? 0)).toBeCloseTo(3);
    expect(made.chanceOfRunningDry).toBeGreaterThan(0.999);
  });

  it('leaves those days their share for which nothing else comes', () => {
    const month = { remaining: 6_000, nextInMs: 20 * DAY, perPeriod: 10_000, periodMs: 30 * DAY };
    expect(planDay([signals], month, null).available).toBeCloseTo(300);
  });

  it('makes what is left last until more come, and spends it where much is left', () => {
    const half = { remaining: 10, nextInMs: HOUR, perPeriod: 1_000, periodMs: DAY };
    const stretch = stretchUntilMore([{ ...signals, weight: 1, changesPerDay: 0 }], half, null);
    expect(stretch).toBeCloseTo(3);
    expect(stretchUntilMore([signals], { ...half, remaining: 500 }, null)).toBe(1);
    expect(stretchUntilMore([signals], null, null)).toBe(1);
    expect(stretchUntilMore([signals], { ...half, remaining: 0 }, null)).toBe(1);
  });

  it('stretches no job whose calls do not count against the quota', () => {
    const apart = { ...news, drawsOnQuota: false };
    const made = planDay([signals, apart], { ...hourly, remaining: 500, nextInMs: DAY }, null);
    expect(made.jobs[1]).toMatchObject({ walks: 288, everyMs: 5 * MINUTE });
    expect(made.jobs[0]?.calls).toBeCloseTo(500, 0);
    expect(made.left).toBeCloseTo(0, 0);
  });

  it('asks for no more calls than the pace allows', () => {
    expect(planDay([signals, news], null, 0.005).calls).toBeCloseTo(432, 0);
  });

  it('holds the data to one interval and the time of the walk itself', () => {
    expect(planDay([news], null, 2).jobs[0]?.heldToMs).toBe(5 * MINUTE + 6_000);
    expect(planDay([{ ...news, callMs: 1_000 }], null, 2).jobs[0]?.heldToMs).toBe(5 * MINUTE + 12_000);
  });

  it('gives an even chance where the calls are just those expected', () => {
    const { calls } = planDay([signals, news], null, null);
    const made = planDay(
      [signals, news],
      { remaining: calls, nextInMs: 30 * DAY, perPeriod: 0, periodMs: 30 * DAY },
      null,
    );
    expect(made.chanceOfRunningDry).toBeCloseTo(0.5, 1);
  });

  it('sees the calls run dry in the last minutes before more come', () => {
    const late = { remaining: 0, nextInMs: 20 * MINUTE, perPeriod: 10_000, periodMs: HOUR };
    expect(planDay([signals], late, null).chanceOfRunningDry).toBeGreaterThan(0.999);
    expect(planDay([signals], { ...late, remaining: 60 }, null).chanceOfRunningDry).toBeLessThan(0.001);
  });
});
