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

/** Takes a call, and says how the quota is then. */
function ask(before: AccountState, now: number, limits: Limits, running: number) {
  const { state, exceeded } = takeCall(before, now, limits, running);
  const decision = exceeded
    ? { granted: false as const, ...exceeded }
    : { granted: true as const, ...quotaAt(state, now, limits) };
  return { state, decision };
}

type Step = { wait: number; giveBack: boolean };

const steps = fc.array(fc.record({ wait: fc.integer({ min: 0, max: 700 }), giveBack: fc.boolean() }), {
  maxLength: 120,
});
const quotaOf = (kind: Quota['kind']) =>
  fc.record({
    calls: fc.integer({ min: 1, max: 8 }),
    periodMs: fc.integer({ min: 1, max: 2_000 }),
    kind: fc.constant(kind),
  });

/** Asks for a call at each step. @returns when those that were granted, and kept, came; and what was said of each. */
function live(limits: Limits, moves: readonly Step[], givesBack = false) {
  let state: AccountState = nothingCounted;
  let now = START;
  const kept: number[] = [];
  const answers = moves.map((move) => {
    now += move.wait;
    const before = quotaAt(state, now, limits).remaining;
    const asked = ask(state, now, limits, 0);
    state = asked.state;
    const { decision } = asked;
    if (decision.granted && givesBack && move.giveBack) state = refundCalls(state, now, limits, now, 1);
    else if (decision.granted) kept.push(now);
    return { now, before, decision };
  });
  return { kept, answers, state };
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
  test('grants while there is some left, refuses where there is none, and counts by one', () => {
    fc.assert(
      fc.property(quotaOf(kind), steps, (quota, moves) => {
        for (const { before, decision } of live({ ...unlimited, quota }, moves).answers) {
          expect(decision.granted).toBe(before > 0);
          if (decision.granted)
            expect([decision.limit, decision.remaining]).toEqual([quota.calls, before - 1]);
        }
      }),
    );
  });

  test('says when there will be another: not a millisecond before, and then it is there', () => {
    fc.assert(
      fc.property(quotaOf(kind), steps, (quota, moves) => {
        const limits = { ...unlimited, quota };
        const { answers, state } = live(limits, moves);
        const refused = answers.at(-1)?.decision;
        if (!refused || refused.granted) return;
        const at = (time: number) => ask(state, time, limits, 0).decision.granted;
        expect([at(refused.readyAt - 1), at(refused.readyAt)]).toEqual([false, true]);
      }),
    );
  });

  test('tells when there will be more, which is when there are', () => {
    fc.assert(
      fc.property(quotaOf(kind), steps, (quota, moves) => {
        const limits = { ...unlimited, quota };
        const { state, answers } = live(limits, moves);
        const now = answers.at(-1)?.now ?? START;
        const { remaining, moreAt } = quotaAt(state, now, limits);
        if (moreAt === null) {
          expect(remaining).toBe(quota.calls);
          return;
        }
        const left = (time: number) => quotaAt(state, time, limits).remaining;
        expect(left(moreAt - 1)).toBe(remaining);
        expect(left(moreAt)).toBeGreaterThan(remaining);
      }),
    );
  });

  test('what is given back can be used again, and is used once', () => {
    fc.assert(
      fc.property(quotaOf(kind), steps, (quota, moves) => {
        const limits = { ...unlimited, quota };
        const { kept } = live(limits, moves, true);
        const most = { fixed: mostInWindow, refill: mostIn }[kind](kept, quota.periodMs);
        expect(most).toBeLessThanOrEqual(kind === 'refill' ? 2 * quota.calls : quota.calls);
      }),
    );
  });

  test('a clock that goes back gives nothing back, and takes nothing', () => {
    fc.assert(
      fc.property(quotaOf(kind), steps, fc.integer({ min: 1, max: 10_000 }), (quota, moves, back) => {
        const limits = { ...unlimited, quota };
        const { state, answers } = live(limits, moves);
        const now = answers.at(-1)?.now ?? START;
        const left = (time: number) => quotaAt(state, time, limits).remaining;
        expect(left(now - back)).toBe(left(now));
      }),
    );
  });
});

test('a fixed window never holds more than its calls', () => {
  fc.assert(
    fc.property(quotaOf('fixed'), steps, (quota, moves) => {
      const { kept } = live({ ...unlimited, quota }, moves);
      expect(mostInWindow(kept, quota.periodMs)).toBeLessThanOrEqual(quota.calls);
    }),
  );
});

describe('a refill and a rate', () => {
  const paces = fc.record({
    calls: fc.integer({ min: 1, max: 9 }),
    periodMs: fc.integer({ min: 1, max: 2_000 }),
    burst: fc.integer({ min: 1, max: 9 }),
  });

  test('grant at most the burst and what came back, in any stretch', () => {
    fc.assert(
      fc.property(paces, steps, (rate, moves) => {
        const { kept } = live({ ...unlimited, rate }, moves);
        for (const [first, from] of kept.entries())
          for (const [last, to] of kept.entries())
            if (last >= first)
              expect(last - first + 1).toBeLessThanOrEqual(
                rate.burst + ((to - from) * rate.calls) / rate.periodMs,
              );
      }),
    );
  });

  test('grant the whole burst after a rest', () => {
    fc.assert(
      fc.property(paces, (rate) => {
        const moves = Array.from({ length: rate.burst + 1 }, () => ({ wait: 0, giveBack: false }));
        expect(live({ ...unlimited, rate }, moves).kept).toHaveLength(rate.burst);
      }),
    );
  });

  test('lose nothing by rounding: a call every three and a third milliseconds, time and again', () => {
    const limits = { ...unlimited, rate: { calls: 3, periodMs: 10, burst: 1 } };
    let state: AccountState = nothingCounted;
    let granted = 0;
    for (let ms = 0; ms < 20_000; ms += 1) {
      const asked = ask(state, START + ms, limits, 0);
      state = asked.state;
      if (asked.decision.granted) granted += 1;
    }
    // A burst of one cannot save what comes between two milliseconds.
    expect(granted).toBe(5_000);
  });
});

describe('three limits together', () => {
  const limits: Limits = {
    quota: { calls: 2, periodMs: 60_000, kind: 'fixed' },
    rate: { calls: 1, periodMs: 1_000, burst: 1 },
    concurrency: 2,
  };
  const asking = (state: AccountState, at: number, running = 0) => ask(state, at, limits, running);

  test('take from all or from none: what one refuses costs nothing elsewhere', () => {
    const first = asking(nothingCounted, START);
    const tooSoon = asking(first.state, START + 1);
    expect(tooSoon.decision).toEqual({ granted: false, limit: 'rate', readyAt: START + 1_000 });
    const tooMany = asking(tooSoon.state, START + 1_000, 2);
    expect(tooMany.decision).toMatchObject({ granted: false, limit: 'concurrency' });
    expect(asking(tooMany.state, START + 1_000).decision).toMatchObject({ granted: true, remaining: 0 });
  });

  test('name the one that takes longest', () => {
    const first = asking(nothingCounted, START);
    const second = asking(first.state, START + 1_000);
    expect(asking(second.state, START + 1_001, 2).decision).toEqual({
      granted: false,
      limit: 'quota',
      readyAt: START + 60_000,
    });
  });
});
