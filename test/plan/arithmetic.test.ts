import { describe, expect, it } from 'vitest';
import {
  type Budget,
  type PlannedJob,
  planDay,
  planUntilMore,
  type Spending,
} from '../../src/plan/spacing.ts';

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
  glanceCalls: null,
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
const hourly: Budget = { remaining: 1_000, nextInMs: HOUR, perPeriod: 1_000, periodMs: HOUR };

const means = (budget: Budget | null, perSecond: number | null = null, spending: Spending = 'full') => ({
  budget,
  perSecond,
  spending,
});

describe('the plan of a day', () => {
  it('counts one call for each walk that finds nothing new, and all pages for one that does', () => {
    const still = planDay([{ ...signals, changesPerDay: 0 }], means(null));
    expect(still.calls).toBeCloseTo(720);
    const moving = planDay([{ ...signals, changesPerDay: Number.POSITIVE_INFINITY }], means(null));
    expect(moving.calls).toBeCloseTo(720 * 5);
  });

  it('counts nothing of a job that is off or not due', () => {
    const off = { ...signals, runs: 0, longestMs: Number.POSITIVE_INFINITY };
    expect(planDay([off], means(hourly, 5))).toMatchObject({ calls: 0, left: 24_000, chanceOfRunningDry: 0 });
  });

  it('promises nothing of the quota where nothing is known of it', () => {
    expect(planDay([signals], means(null))).toMatchObject({
      available: null,
      left: null,
      stretch: 1,
      chanceOfRunningDry: null,
    });
  });

  it('meets every target where the calls will do, and says what is left', () => {
    const made = planDay([signals, news], means(hourly, 5));
    expect(made.stretch).toBe(1);
    expect(made.jobs.map((job) => job.everyMs)).toEqual([2 * MINUTE, 5 * MINUTE]);
    expect(made.left).toBeCloseTo(24_000 - made.calls);
    expect(made.chanceOfRunningDry).toBeLessThan(0.001);
  });

  it('spaces walks by the root of calls × target ÷ weight until the calls fit', () => {
    const made = planDay([signals, news], means({ ...hourly, remaining: 500, nextInMs: DAY }, 5));
    expect(made.calls).toBeCloseTo(500, 0);
    const [first, second] = made.jobs.map(({ everyMs }) => everyMs);
    expect((second ?? 0) / (first ?? 1)).toBeCloseTo(Math.sqrt((12 * 5) / 1 / ((5 * 2) / 3)));
    expect(made.stretch).toBeCloseTo(
      Math.max((3 * (first ?? 0)) / (2 * MINUTE), (second ?? 0) / (5 * MINUTE)),
    );
    expect(made.chanceOfRunningDry).toBeGreaterThan(0.999);
  });

  it('leaves those days their share for which nothing else comes', () => {
    const month = { remaining: 6_000, nextInMs: 20 * DAY, perPeriod: 10_000, periodMs: 30 * DAY };
    expect(planDay([signals], means(month)).available).toBeCloseTo(300);
  });

  it('keeps the schedule of a job whose calls do not count against the quota', () => {
    const apart = { ...news, drawsOnQuota: false };
    const made = planDay([signals, apart], means({ ...hourly, remaining: 500, nextInMs: DAY }));
    expect(made.jobs[1]).toMatchObject({ walks: 288, everyMs: 5 * MINUTE });
    expect(made.jobs[0]?.calls).toBeCloseTo(500, 0);
    expect(made.left).toBeCloseTo(0, 0);
  });

  it('asks for no more calls than the pace allows', () => {
    expect(planDay([signals, news], means(null, 0.005)).calls).toBeCloseTo(432, 0);
  });

  it('counts no more calls than there are, also where they do not make a walk a day of everything', () => {
    const few: Budget = { remaining: 6, nextInMs: DAY, perPeriod: 6, periodMs: DAY };
    const made = planDay([news], means(few));
    expect(made).toMatchObject({ calls: 6, available: 6, left: 0 });
    expect(made.jobs[0]).toMatchObject({ walks: 0.5, everyMs: DAY, heldToMs: 2 * DAY });
    expect(planDay([news], means({ ...few, remaining: 0 })).jobs[0]).toMatchObject({ walks: 0, calls: 0 });
  });

  it('holds a dataset with a pattern to a day, unless the pattern itself leaves out more', () => {
    const office = { ...news, runs: 9, longestMs: 16 * HOUR };
    const everyOf = (job: PlannedJob, calls: number) =>
      planDay([job], means({ ...hourly, remaining: calls, nextInMs: DAY })).jobs[0]?.everyMs;
    expect(everyOf(office, 72)).toBeCloseTo(24 * HOUR, -4);
    expect(everyOf(office, 12)).toBe(24 * HOUR);
    expect(everyOf(office, 96)).toBeCloseTo(16 * HOUR * (108 / 96), -4);
    expect(everyOf({ ...office, longestMs: 60 * HOUR }, 72)).toBe(60 * HOUR);
  });

  it('holds the data to one interval and the time of the walk itself', () => {
    expect(planDay([news], means(null, 2)).jobs[0]?.heldToMs).toBe(5 * MINUTE + 6_000);
    expect(planDay([{ ...news, callMs: 1_000 }], means(null, 2)).jobs[0]?.heldToMs).toBe(5 * MINUTE + 12_000);
  });

  it('gives an even chance where the calls are just those expected', () => {
    const { calls } = planDay([signals, news], means(null));
    const all = { remaining: calls, nextInMs: 30 * DAY, perPeriod: 0, periodMs: 30 * DAY };
    const made = planDay([signals, news], means(all));
    expect(made.chanceOfRunningDry).toBeCloseTo(0.5, 1);
  });

  it('does not take a walk of more calls than a short period brings for one that is late', () => {
    const short = { remaining: 3, nextInMs: 5_000, perPeriod: 10, periodMs: 10_000 };
    const walk = { ...signals, runs: 96, longestMs: 15 * MINUTE, changedCalls: 41, unchangedCalls: 41 };
    const made = planDay([walk], means(short));
    expect(made.stretch).toBe(1);
    expect(made.chanceOfRunningDry).toBeLessThan(0.001);
    const long = { ...short, nextInMs: 10 * MINUTE, periodMs: 20 * MINUTE };
    expect(planDay([walk], means(long)).chanceOfRunningDry).toBeGreaterThan(0.999);
  });

  it('sees the calls run dry in the last minutes before more come', () => {
    const late = { remaining: 0, nextInMs: 20 * MINUTE, perPeriod: 10_000, periodMs: HOUR };
    expect(planDay([signals], means(late)).chanceOfRunningDry).toBeGreaterThan(0.999);
    expect(planDay([signals], means({ ...late, remaining: 60 })).chanceOfRunningDry).toBeLessThan(0.001);
  });
});

describe('the plan until more calls come', () => {
  const half = { remaining: 10, nextInMs: HOUR, perPeriod: 1_000, periodMs: DAY };
  const still = { ...signals, weight: 1, changesPerDay: 0 };

  it('makes what is left last until then, and spends it where much is left', () => {
    const made = planUntilMore([still], means(half));
    expect(made.stretch).toBeCloseTo(3);
    expect(made.jobs[0]?.everyMs).toBeCloseTo(6 * MINUTE, -2);
    expect(planUntilMore([still], means({ ...half, remaining: 500 })).jobs[0]?.everyMs).toBe(2 * MINUTE);
  });

  it('goes on at the pace of a whole period where nothing is left, and where it is over', () => {
    const whole = planDay([news], means({ remaining: 1_000, nextInMs: DAY, perPeriod: 0, periodMs: DAY }));
    for (const budget of [
      { ...half, remaining: 0 },
      { ...half, nextInMs: 0 },
    ]) {
      const made = planUntilMore([news], means(budget));
      expect(made.jobs[0]?.everyMs).toBeCloseTo(whole.jobs[0]?.everyMs ?? 0);
      expect(made.stretch).toBe(1);
    }
  });

  it('glances where a usual day has calls enough for it, however little of this one is left', () => {
    const head = { ...news, unchangedCalls: news.changedCalls, glanceCalls: 1 };
    const glances = (budget: Budget) => planUntilMore([head], means(budget)).jobs[0]?.glanceEveryMs !== null;
    const scarce = { remaining: news.changedCalls, nextInMs: DAY - HOUR, periodMs: DAY };
    expect(glances({ ...scarce, perPeriod: 2 * news.changedCalls })).toBe(true);
    expect(glances({ ...scarce, perPeriod: 2 * news.changedCalls - 1 })).toBe(false);
    // Of a longer period, little may be left for weeks.
    expect(glances({ ...scarce, perPeriod: 60 * news.changedCalls, periodMs: 30 * DAY })).toBe(false);
  });

  it('keeps the schedules where nothing is known, or not one call comes', () => {
    for (const budget of [null, { remaining: 0, nextInMs: HOUR, perPeriod: 0, periodMs: DAY }])
      expect(planUntilMore([news], means(budget)).jobs[0]?.everyMs).toBe(5 * MINUTE);
  });

  it('lets a walk wait that costs more than is left, unless that is so of every period', () => {
    const waits = (job: PlannedJob, budget: Budget | null) =>
      planUntilMore([job], means(budget)).jobs[0]?.waitsForMore;
    const nearlyGone = { ...half, remaining: 4 };
    expect(waits(signals, nearlyGone)).toBe(true);
    expect(waits(signals, { ...half, remaining: 5 })).toBe(false);
    expect(waits(signals, { ...nearlyGone, perPeriod: 4 })).toBe(false);
    // Nothing would be read before more come.
    expect(waits(signals, { ...half, remaining: 0 })).toBe(false);
    expect(waits({ ...signals, drawsOnQuota: false }, nearlyGone)).toBe(false);
    expect(waits(signals, null)).toBe(false);
  });
});
