import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Pool } from '../../src/governor/describe.ts';
import { callsPerDay, type Interval, intervals, type PlannedJob } from '../../src/plan.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const now = Date.UTC(2026, 0, 1);

const every = (ms: number, walkCalls: number, changes: Partial<PlannedJob> = {}): PlannedJob => ({
  ...{ runs: DAY / ms, longestMs: ms, weight: 1, walkCalls, glanceCalls: null },
  ...changes,
});
const callsOf = (job: PlannedJob, { walkMs, glanceMs }: Interval) =>
  (DAY / walkMs) * job.walkCalls +
  (glanceMs === null ? 0 : Math.max(0, DAY / glanceMs - DAY / walkMs / 2)) * (job.glanceCalls ?? 0);
const sumOf = (jobs: readonly PlannedJob[], spaced: readonly Interval[]) =>
  jobs.reduce((sum, job, at) => sum + callsOf(job, spaced[at] as Interval), 0);

describe('the plan', () => {
  it('keeps schedules that fit, and those of which nobody knows whether they do', () => {
    const jobs = [every(5 * MINUTE, 2), every(HOUR, 10, { glanceCalls: 1 })];
    for (const calls of [2 * 288 + 240, Number.POSITIVE_INFINITY])
      expect(intervals(jobs, calls)).toEqual([
        { walkMs: 5 * MINUTE, glanceMs: null },
        { walkMs: HOUR, glanceMs: null },
      ]);
  });

  it('else lets intervals grow by the root of what a walk costs', () => {
    const jobs = [every(5 * MINUTE, 1), every(5 * MINUTE, 16)];
    const [cheap, dear] = intervals(jobs, 500) as [Interval, Interval];
    expect(dear.walkMs / cheap.walkMs).toBeCloseTo(4, 2);
    const [first, second] = intervals([every(5 * MINUTE, 4, { weight: 4 }), every(5 * MINUTE, 4)], 500) as [
      Interval,
      Interval,
    ];
    expect(second.walkMs / first.walkMs).toBeCloseTo(2, 2);
  });

  it('spends a quarter of all calls on glances, shared by those heads that are worth it', () => {
    const jobs = [
      every(2 * MINUTE, 10),
      every(2 * MINUTE, 12, { glanceCalls: 1 }),
      every(8 * MINUTE, 12, { glanceCalls: 1 }),
    ];
    const spaced = intervals(jobs, 1_000);
    const walks = jobs.reduce((sum, job, at) => sum + (DAY / (spaced[at]?.walkMs ?? 1)) * job.walkCalls, 0);
    expect(walks).toBeGreaterThan(750);
    expect(walks).toBeLessThan(800);
    expect(sumOf(jobs, spaced)).toBeCloseTo(1_000, -1);
    const [, often, seldom] = spaced.map(({ glanceMs }) => glanceMs ?? 0) as [number, number, number];
    expect(seldom / often).toBeCloseTo(2, 2);
  });

  it('spends no more on them where one dataset alone has them', () => {
    const job = every(5 * MINUTE, 11, { glanceCalls: 1 });
    const [{ walkMs, glanceMs }] = intervals([job], 1_000) as [Interval];
    expect(glanceMs).not.toBeNull();
    expect((DAY / walkMs) * 11).toBeGreaterThan(749);
    expect(callsOf(job, { walkMs, glanceMs })).toBeCloseTo(1_000, -1);
    expect((glanceMs ?? 0) / walkMs).toBeLessThan(0.9);
  });

  it('walks each dataset once a day, without glances if need be; and the most expensive ones less often where even that is too much', () => {
    const jobs = [
      every(5 * MINUTE, 5, { glanceCalls: 1 }),
      every(5 * MINUTE, 20, { glanceCalls: 1 }),
      every(5 * MINUTE, 500),
    ];
    for (const { walkMs, glanceMs } of intervals(jobs, 530)) {
      expect(walkMs).toBeLessThanOrEqual(DAY);
      expect(glanceMs).toBeNull();
    }
    const [small, middle, large] = intervals(jobs, 100).map(({ walkMs }) => walkMs / DAY);
    expect([small, middle]).toEqual([1, 1]);
    expect(large).toBeCloseTo(500 / 75, 1);
  });

  it('never takes more than there is, nor walks more often than a schedule says, whatever the datasets', () => {
    const job = fc.record({
      ms: fc.integer({ min: MINUTE, max: 3 * DAY }),
      walkCalls: fc.integer({ min: 1, max: 500 }),
      weight: fc.integer({ min: 1, max: 10 }),
      glanceCalls: fc.option(fc.integer({ min: 1, max: 3 })),
    });
    fc.assert(
      fc.property(
        fc.array(job, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 100_000 }),
        (given, calls) => {
          const jobs = given.map(({ ms, walkCalls, ...others }) => every(ms, walkCalls, others));
          const spaced = intervals(jobs, calls);
          expect(sumOf(jobs, spaced)).toBeLessThanOrEqual(calls * 1.0001);
          for (const [at, { walkMs, glanceMs }] of spaced.entries()) {
            expect(walkMs).toBeGreaterThanOrEqual((jobs[at]?.longestMs ?? 0) * 0.9999);
            if (glanceMs !== null)
              expect(glanceMs).toBeGreaterThanOrEqual((jobs[at]?.longestMs ?? 0) * 0.9999);
          }
        },
      ),
    );
  });
});

describe('the calls of a day', () => {
  const pool = (changes: Partial<Pool> & { at?: number | null; everyMs?: number | null }): Pool => {
    const { at = now + 6 * HOUR, everyMs = DAY, ...others } = changes;
    const resets = { known: 'seen', at, everyMs, says: '' } as const;
    return { limit: 1_000, remaining: 500, asOf: now, source: 'header', reserve: 0, resets, ...others };
  };

  it.each<[string, Parameters<typeof pool>[0], number | null]>([
    ['what is left until the reset', { remaining: 100 }, 400],
    ['without the reserve', { remaining: 100, reserve: 20 }, 4 * 80],
    ['no more than is left and comes in a day', {}, 500 + 750],
    ['also just before a reset', { remaining: 240, at: now + 6 * MINUTE }, 240 + 1_000 - 1_000 / 240],
    ['all of it at the end of a month', { everyMs: 30 * DAY, at: now + DAY }, 500],
    ['as usual where nothing is left', { remaining: 0 }, 1_000],
    ['as usual of what slides', { at: null }, 1_000],
    ['one a period at least', { limit: 1, remaining: 1, reserve: 1 }, 1],
    [
      'of a short period',
      { everyMs: 10 * MINUTE, at: now + 5 * MINUTE, limit: 60, remaining: 50 },
      50 + 60 * (6 * 24 - 0.5),
    ],
    [
      'a whole pool after a reset of which nobody has heard yet',
      { remaining: 2, asOf: now - 19 * HOUR, at: now + 6 * HOUR },
      1_750,
    ],
    ['unknown without a quota', { limit: null, remaining: null }, null],
    ['unknown without a period', { everyMs: null, at: null }, null],
  ])('%s', (_, changes, expected) => {
    const calls = callsPerDay(pool(changes), now);
    if (expected === null) expect(calls).toBeNull();
    else expect(calls).toBeCloseTo(expected, 6);
  });
});
