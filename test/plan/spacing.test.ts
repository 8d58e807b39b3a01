import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  callsPerDay,
  glancesPerDay,
  type PlannedJob,
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
  it('walks are spaced by the root of calls × target ÷ weight', () => {
    // √(31 × 5) and √(11 × 2 ÷ 4) parts of one unit u: 31 ÷ 12.45 u + 11 ÷ 2.35 u calls of 1,440 minutes.
    const jobs = [job({}), job({ changedCalls: 11, targetMs: 2 * MINUTE, weight: 4 })];
    const roots = [Math.sqrt(31 * 5), Math.sqrt((11 * 2) / 4)];
    const unit = (1_440 * (31 / (roots[0] ?? 1) + 11 / (roots[1] ?? 1))) / 500;
    const spacings = spacingsOf(jobs, 500);
    spacings.forEach(
      ({ everyMs }, at) => void expect(everyMs / MINUTE).toBeCloseTo(unit * (roots[at] ?? 0), 3),
    );
  });

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

  it('glances of two pages come half as often', () => {
    const [one, two] = [1, 2].map((glanceCalls) => only(job({ glanceCalls }), 400));
    expect((two?.glanceEveryMs ?? 0) / (one?.glanceEveryMs ?? 1)).toBeCloseTo(2, 1);
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

  it('a published snapshot is counted by how often it changes', () => {
    const still = job({ changedCalls: 11, unchangedCalls: 1, changesPerDay: 0 });
    expect(only(still, 144).everyMs).toBeCloseTo(10 * MINUTE, 0);
    const moving = only({ ...still, changesPerDay: 1e9 }, 144);
    expect(moving.everyMs).toBeCloseTo(110 * MINUTE, 0);
  });

  it('a thrifty mirror does as any other', () => {
    const jobs = [job({ glanceCalls: 1 }), job({})];
    expect(spaceOut(jobs, 400, 'thrifty')).toEqual(spaceOut(jobs, 400, 'full'));
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
