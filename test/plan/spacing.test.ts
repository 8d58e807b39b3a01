import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Budget,
  callsPerDay,
  type DayOfCalls,
  glancesPerDay,
  type PlannedJob,
  planDay,
  planUntilMore,
  type Spacing,
  type Spending,
  spaceOut,
  targetOf,
} from '../../src/plan/spacing.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const job = (changes: Partial<PlannedJob> & { targetMs?: number }): PlannedJob => {
  const { targetMs = 5 * MINUTE, changedCalls = 31, ...rest } = changes;
  return {
    name: 'news',
    runs: DAY / targetMs,
    longestMs: targetMs,
    weight: 1,
    changedCalls,
    unchangedCalls: changedCalls,
    changesPerDay: Number.POSITIVE_INFINITY,
    glanceCalls: null,
    callMs: 0,
    drawsOnQuota: true,
    ...rest,
  };
};
const spacingsOf = (jobs: readonly PlannedJob[], perDay: number, spending: Spending = 'full') =>
  spaceOut(jobs, perDay, spending).spacings;
const only = (given: PlannedJob, perDay: number, spending?: Spending) =>
  spacingsOf([given], perDay, spending)[0] as Spacing;
const callsOf = (jobs: readonly PlannedJob[], spacings: readonly Spacing[]) =>
  jobs.reduce((sum, job, at) => sum + callsPerDay(job, spacings[at] as Spacing), 0);

describe('with calls enough', () => {
  it('every schedule is kept by walks, also of a head worth glances', () => {
    const jobs = [job({ glanceCalls: 1 }), job({ targetMs: 2 * MINUTE })];
    expect(spaceOut(jobs, 31 * 288 + 31 * 720, 'full')).toEqual({
      spacings: [
        { everyMs: 5 * MINUTE, glanceEveryMs: null },
        { everyMs: 2 * MINUTE, glanceEveryMs: null },
      ],
      isScarce: false,
    });
    expect(spaceOut(jobs, 31 * 288 + 31 * 720 - 1, 'full').isScarce).toBe(true);
  });

  it('a thrifty mirror glances by schedule and walks once an hour, where glances are worth it', () => {
    const enough = 31 * 288;
    expect(only(job({ glanceCalls: 1 }), enough, 'thrifty')).toEqual({
      everyMs: HOUR,
      glanceEveryMs: 5 * MINUTE,
    });
    expect(only(job({}), enough, 'thrifty')).toEqual({ everyMs: 5 * MINUTE, glanceEveryMs: null });
    // 24 walks of 31 calls and 288 looks, of which a walk takes half a glance: those are fewer than 31 × 288.
    const least = 24 * 31 + 288 - 12;
    expect(spaceOut([job({ glanceCalls: 1 })], least, 'thrifty').isScarce).toBe(false);
    expect(spaceOut([job({ glanceCalls: 1 })], least - 1, 'thrifty').isScarce).toBe(true);
  });

  it('a thrifty mirror walks by schedule where that costs no more', () => {
    const rare = job({ glanceCalls: 1, targetMs: 2 * HOUR });
    expect(only(rare, 1e6, 'thrifty')).toEqual({ everyMs: 2 * HOUR, glanceEveryMs: null });
    const short = job({ glanceCalls: 1, changedCalls: 1 });
    expect(only(short, 1e6, 'thrifty')).toEqual({ everyMs: 5 * MINUTE, glanceEveryMs: null });
    expect(only(job({ glanceCalls: 1, drawsOnQuota: false }), 1e6, 'thrifty').glanceEveryMs).toBeNull();
  });
});

describe('where calls are scarce', () => {
  it('a schedule that asks for less than its share is kept', () => {
    const [often, rare] = spacingsOf([job({}), job({ changedCalls: 1, targetMs: 6 * HOUR })], 200);
    expect(rare?.everyMs).toBe(6 * HOUR);
    expect((31 * DAY) / (often?.everyMs ?? 0)).toBeCloseTo(196);
  });

  it('a quarter of the calls goes to a head worth glances, and walks come a third later', () => {
    const { everyMs, glanceEveryMs } = only(job({ glanceCalls: 1 }), 400);
    expect((everyMs / (glanceEveryMs ?? 0)).toFixed(3)).toBe((31 / 3).toFixed(3));
    expect(callsPerDay(job({ glanceCalls: 1 }), { everyMs, glanceEveryMs })).toBeCloseTo(400);
    const without = only(job({}), 400);
    expect(everyMs / without.everyMs).toBeLessThan(4 / 3);
    expect(everyMs / without.everyMs).toBeGreaterThan(1.28);
  });

  it('a glance comes no more often than the schedule asks', () => {
    const { everyMs, glanceEveryMs } = only(job({ glanceCalls: 1 }), 5_000);
    expect(glanceEveryMs).toBe(5 * MINUTE);
    expect(everyMs).toBeLessThan(((5 * MINUTE * 4) / 3) * (8_928 / 5_000));
  });

  it('a walk comes within 23 hours where glances come between, if need be at the cost of glances', () => {
    const wallets = job({ glanceCalls: 1, weight: 0.01 });
    const { everyMs, glanceEveryMs } = spacingsOf([job({}), wallets], 300)[1] as Spacing;
    expect(everyMs).toBe(DAY);
    // A tenth of the share of a walk a day.
    expect(glanceEveryMs).toBeCloseTo(DAY / 3.1);
    const near = spacingsOf([job({}), { ...wallets, weight: 0.026 }], 300)[1] as Spacing;
    expect(near.everyMs).toBeCloseTo(23 * HOUR);
  });

  it('there are none where calls hardly do for two walks a day of everything', () => {
    const jobs = [job({ glanceCalls: 1 }), job({ changedCalls: 9 })];
    expect(spacingsOf(jobs, 80)[0]?.glanceEveryMs).not.toBeNull();
    expect(spacingsOf(jobs, 79)[0]?.glanceEveryMs).toBeNull();
  });

  it('there are none where a walk would come as soon', () => {
    expect(only(job({ glanceCalls: 1, changedCalls: 4 }), 1_000).glanceEveryMs).toBeNull();
    expect(only(job({ glanceCalls: 1, changedCalls: 5 }), 1_000).glanceEveryMs).not.toBeNull();
  });
});

describe('whatever there is', () => {
  const jobs = fc
    .array(
      fc.record({
        targetMs: fc.constantFrom(1, 2, 5, 15, 60, 600, 1_500, 3_000).map((minutes) => minutes * MINUTE),
        weight: fc.constantFrom(0.5, 1, 2, 3),
        changedCalls: fc.integer({ min: 1, max: 400 }),
        published: fc.boolean(),
        changesPerDay: fc.constantFrom(0, 1, 50, 1_000, Number.POSITIVE_INFINITY),
        glanceCalls: fc.constantFrom(null, 1, 1.3, 3),
        drawsOnQuota: fc.constantFrom(true, true, true, false),
      }),
      { minLength: 1, maxLength: 6 },
    )
    .map((all) =>
      all.map(({ published, ...rest }) =>
        job(published ? { ...rest, unchangedCalls: 1, glanceCalls: null } : rest),
      ),
    );
  const perDay = fc.double({ min: 1, max: 6, noNaN: true }).map((power) => 10 ** power);
  const spending = fc.constantFrom<Spending>('full', 'thrifty');

  it('calls suffice, or every dataset is walked once a day; and where they are scarce they are used', () => {
    fc.assert(
      fc.property(jobs, perDay, spending, (jobs, perDay, spending) => {
        const { spacings, isScarce } = spaceOut(jobs, perDay, spending);
        const drawing = jobs.map((job) => (job.drawsOnQuota ? job : { ...job, runs: 0 }));
        const calls = callsOf(drawing, spacings);
        const isHeld = spacings.some(({ everyMs }, at) => everyMs >= 23 * HOUR && drawing[at]?.runs);
        if (!isHeld) expect(calls).toBeLessThanOrEqual(perDay * (1 + 1e-9));
        if (isScarce && !isHeld) expect(calls).toBeGreaterThan(0.97 * perDay);
        spacings.forEach(({ everyMs, glanceEveryMs }, at) => {
          const job = jobs[at] as PlannedJob;
          const [target, longest] = [targetOf(job), Math.max(targetOf(job), DAY) * (1 + 1e-9)];
          expect(everyMs).toBeGreaterThanOrEqual(target * (1 - 1e-9));
          expect(everyMs).toBeLessThanOrEqual(longest);
          if (!job.drawsOnQuota)
            expect({ everyMs, glanceEveryMs }).toEqual({ everyMs: target, glanceEveryMs: null });
          if (glanceEveryMs === null) return;
          expect(glanceEveryMs).toBeGreaterThanOrEqual(target * (1 - 1e-9));
          expect(glanceEveryMs).toBeLessThanOrEqual(longest);
          const spacing = { everyMs, glanceEveryMs };
          const head = glancesPerDay(job, spacing) * (job.glanceCalls ?? 0);
          if (isScarce) expect(head / callsPerDay(job, spacing)).toBeLessThanOrEqual(0.25 + 1e-9);
        });
      }),
    );
  });

  it('walks come at most a third later than without glances', () => {
    fc.assert(
      fc.property(jobs, perDay, (jobs, perDay) => {
        const spacings = spacingsOf(jobs, perDay);
        const without = spacingsOf(
          jobs.map((job) => ({ ...job, glanceCalls: null })),
          perDay,
        );
        const later = spacings.map(({ everyMs }, at) => everyMs / (without[at]?.everyMs ?? 0));
        expect(Math.max(...later)).toBeLessThanOrEqual((4 / 3) * (1 + 1e-9));
      }),
    );
  });

  it.each([
    ['no jobs', [], 100],
    ['no calls', [job({})], 0],
    ['calls without end', [job({})], Number.POSITIVE_INFINITY],
    ['a job that is never due', [job({ runs: 0, longestMs: Number.POSITIVE_INFINITY })], 0],
    ['a walk that costs nothing', [job({ changedCalls: 0 })], 0],
  ])('%s', (_, jobs, perDay) => {
    for (const { everyMs, glanceEveryMs } of spacingsOf(jobs as PlannedJob[], perDay as number)) {
      expect(everyMs).toBeGreaterThan(0);
      expect(glanceEveryMs).toBeNull();
    }
  });
});

const signals = job({
  targetMs: 2 * MINUTE,
  weight: 3,
  changedCalls: 5,
  unchangedCalls: 1,
  changesPerDay: 96,
});
const news = job({ changedCalls: 12, unchangedCalls: 1, changesPerDay: 96 });
const hourly: Budget = { remaining: 1_000, nextInMs: HOUR, perPeriod: 1_000, periodMs: HOUR };

const means = (budget: Budget | null, perSecond: number | null = null, spending: Spending = 'full') => ({
  budget,
  perSecond,
  spending,
});

const callsIn = ({ jobs }: DayOfCalls) => jobs.reduce((sum, { calls }) => sum + calls, 0);

describe('the plan of a day', () => {
  it('counts one call for each walk that finds nothing new, and all pages for one that does', () => {
    const still = planDay([{ ...signals, changesPerDay: 0 }], means(null));
    expect(callsIn(still)).toBeCloseTo(720);
    const moving = planDay([{ ...signals, changesPerDay: Number.POSITIVE_INFINITY }], means(null));
    expect(callsIn(moving)).toBeCloseTo(720 * 5);
  });

  it('counts nothing of a job that is off or not due', () => {
    const off = { ...signals, runs: 0, longestMs: Number.POSITIVE_INFINITY };
    expect(planDay([off], means(hourly, 5))).toMatchObject({ left: 24_000, chanceOfRunningDry: 0 });
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
    expect(made.left).toBeCloseTo(24_000 - callsIn(made));
    expect(made.chanceOfRunningDry).toBeLessThan(0.001);
  });

  it('spaces walks by the root of calls × target ÷ weight until the calls fit', () => {
    const made = planDay([signals, news], means({ ...hourly, remaining: 500, nextInMs: DAY }, 5));
    expect(callsIn(made)).toBeCloseTo(500, 0);
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

  it('counts no more calls than there are, also where they do not make a walk a day of everything', () => {
    const few: Budget = { remaining: 6, nextInMs: DAY, perPeriod: 6, periodMs: DAY };
    const made = planDay([news], means(few));
    expect(made).toMatchObject({ available: 6, left: 0 });
    expect(made.jobs[0]).toMatchObject({ walks: 0.5, calls: 6, everyMs: DAY, heldToMs: 2 * DAY });
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
    const calls = callsIn(planDay([signals, news], means(null)));
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
