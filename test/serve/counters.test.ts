/** Whatever comes when, no counter grants more than its limit, and none refuses while there is some left. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AccountState,
  type Limits,
  nothingCounted,
  type Quota,
  quotaAt,
  quotaKinds,
  refundCalls,
  takeCall,
  unlimited,
} from '../../src/serve/access/limits.ts';

const START = Date.parse('2026-11-21T12:00:00Z');

type Step = { wait: number; giveBack: boolean };

const steps = fc.array(fc.record({ wait: fc.integer({ min: 0, max: 700 }), giveBack: fc.boolean() }), {
  maxLength: 120,
});
const pace = { calls: fc.integer({ min: 1, max: 8 }), periodMs: fc.integer({ min: 1, max: 2_000 }) };
const quotaOf = (kind: Quota['kind']) => fc.record({ ...pace, kind: fc.constant(kind) });

/** Asks for a call at each step. @returns when those that were granted, and kept, came; and what was said of each. */
function live(limits: Limits, moves: readonly Step[], givesBack = false) {
  let state: AccountState = nothingCounted;
  let now = START;
  const kept: number[] = [];
  const answers = moves.map((move) => {
    now += move.wait;
    const before = quotaAt(state, now, limits).remaining;
    const taken = takeCall(state, now, limits, 0);
    state = taken.state;
    const after = quotaAt(state, now, limits).remaining;
    if (!taken.exceeded && givesBack && move.giveBack) state = refundCalls(state, now, limits, now, 1);
    else if (!taken.exceeded) kept.push(now);
    return { before, after, exceeded: taken.exceeded };
  });
  return { kept, answers, state, now };
}

/** The most that came in any stretch of `ms`. */
const mostIn = (times: readonly number[], ms: number) =>
  Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + ms).length));

/** The most that came in a window of the grid. */
const mostInWindow = (times: readonly number[], ms: number) => {
  const windows = times.map((at) => Math.floor(at / ms));
  return Math.max(0, ...windows.map((window) => windows.filter((other) => other === window).length));
};

describe.each(quotaKinds)('a quota of kind %s', (kind) => {
  test('grants while there is some left and counts by one, refuses where there is none, and says when there will be more', () => {
    fc.assert(
      fc.property(quotaOf(kind), steps, fc.integer({ min: 1, max: 10_000 }), (quota, moves, back) => {
        const limits = { ...unlimited, quota };
        const { answers, state, now } = live(limits, moves);
        for (const { before, after, exceeded } of answers) {
          expect(exceeded === null).toBe(before > 0);
          expect(after).toBe(exceeded ? 0 : before - 1);
        }
        const left = (time: number) => quotaAt(state, time, limits).remaining;
        const refused = answers.at(-1)?.exceeded;
        if (refused) expect([left(refused.readyAt - 1), left(refused.readyAt) > 0]).toEqual([0, true]);
        const { remaining, moreAt } = quotaAt(state, now, limits);
        if (moreAt === null) expect(remaining).toBe(quota.calls);
        else expect([left(moreAt - 1), left(moreAt) > remaining]).toEqual([remaining, true]);
        expect(left(now - back), 'a clock that goes back gives and takes nothing').toBe(left(now));
      }),
    );
  });

  test.each([false, true])('never holds more than its calls; some are given back: %s', (givesBack) => {
    fc.assert(
      fc.property(quotaOf(kind), steps, (quota, moves) => {
        const { kept } = live({ ...unlimited, quota }, moves, givesBack);
        const most = { fixed: mostInWindow, refill: mostIn }[kind](kept, quota.periodMs);
        expect(most).toBeLessThanOrEqual(kind === 'refill' ? 2 * quota.calls : quota.calls);
      }),
    );
  });
});

test('a rate grants the whole burst after a rest, and at most the burst and what came back, in any stretch', () => {
  fc.assert(
    fc.property(fc.record({ ...pace, burst: fc.integer({ min: 1, max: 9 }) }), steps, (rate, moves) => {
      const limits = { ...unlimited, rate };
      const atOnce = Array.from({ length: rate.burst + 1 }, () => ({ wait: 0, giveBack: false }));
      expect(live(limits, atOnce).kept).toHaveLength(rate.burst);
      const { kept } = live(limits, moves);
      for (const [first, from] of kept.entries())
        for (const [last, to] of kept.slice(first).entries())
          expect(last + 1).toBeLessThanOrEqual(rate.burst + ((to - from) * rate.calls) / rate.periodMs);
    }),
  );
});

test('a rate loses nothing by rounding: a call every three and a third milliseconds, time and again', () => {
  const limits = { ...unlimited, rate: { calls: 3, periodMs: 10, burst: 1 } };
  const { kept } = live(
    limits,
    Array.from({ length: 20_000 }, () => ({ wait: 1, giveBack: false })),
  );
  // A burst of one cannot save what comes between two milliseconds.
  expect(kept).toHaveLength(5_000);
});

test('three limits take from all or from none, and name the one that takes longest', () => {
  const limits: Limits = {
    quota: { calls: 2, periodMs: 60_000, kind: 'fixed' },
    rate: { calls: 1, periodMs: 1_000, burst: 1 },
    concurrency: 2,
  };
  let state = nothingCounted;
  const asking = (at: number, running = 0) => {
    const taken = takeCall(state, START + at, limits, running);
    ({ state } = taken);
    return taken.exceeded;
  };
  expect(asking(0)).toBe(null);
  expect(asking(1)).toEqual({ limit: 'rate', readyAt: START + 1_000 });
  expect(asking(1_000, 2)).toMatchObject({ limit: 'concurrency' });
  expect(asking(1_000)).toBe(null);
  expect(quotaAt(state, START + 1_000, limits).remaining).toBe(0);
  expect(asking(1_001, 2)).toEqual({ limit: 'quota', readyAt: START + 60_000 });
});
