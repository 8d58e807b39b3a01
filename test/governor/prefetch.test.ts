/** When the governor lets calls go ahead of their turn, how many, and what it counts as wasted. */

import { describe, expect, it } from 'vitest';
import { initialState } from '../../src/governor/state.ts';
import { callFine, fine, never, setup } from './bench.ts';
import { drive, T0 } from './drive.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A governor that has made so many calls lately, and knows that so many may go at once. */
function acquainted(calls: number, proven = 4) {
  const state = initialState();
  const machine = drive({
    ...state,
    rate: { ...state.rate, perSecond: 1_000 },
    concurrency: { ...state.concurrency, proven },
  });
  for (let made = 0; made < calls; made += 1) machine.call();
  machine.pass(1_000);
  return machine;
}

type Machine = ReturnType<typeof drive>;

/** Asks for a call that others are upcoming to follow; gives the prefetch budget. */
function budget({ on }: Machine, upcoming = 100, unproven = 0, owner = 'me', job = 'news'): number {
  const decision = on({ type: 'ask', owner, job, want: 1, inFlight: 1, upcoming, unproven });
  return 'permits' in decision ? decision.prefetchBudget : 0;
}

describe('prefetches', () => {
  it('are as many as are proven to go at once, and one more', () => {
    expect(budget(acquainted(2_000, 4))).toBe(5);
    expect(budget(acquainted(2_000, 8))).toBe(9);
    expect(budget(acquainted(2_000, 4), 2)).toBe(2);
    expect(budget(acquainted(2_000, 4), 0)).toBe(0);
    expect(budget(acquainted(2_000, 4), 100, 2), 'two of them are held already').toBe(3);
  });

  it('are never as many as were refused, however long ago', () => {
    const { state, now } = acquainted(2_000, 4);
    const calm = { ...state.concurrency, refused: 5, steadyCalls: 1_000, callsBeforeTrial: 100 };
    const machine = drive({ ...state, concurrency: calm }, now);
    expect(budget(machine)).toBe(4);
  });

  it('make two at once where one is proven', () => {
    expect(budget(acquainted(2_000, 1))).toBe(2);
  });

  it('are never more than are left of what is allowed at once, all processes together', () => {
    const machine = acquainted(2_000, 4);
    for (let call = 0; call < 3; call += 1) {
      machine.ask('usage', 'another', 1);
      machine.pass(10);
    }
    const { maxInFlight = 0 } = machine.state.leases['another'] ?? {};
    expect(budget(machine)).toBeLessThanOrEqual(5 - Math.min(3, maxInFlight));
  });

  it('may waste one in a hundred of the calls of a day, and none before so many were made', () => {
    expect(budget(acquainted(99))).toBe(0);
    expect(budget(acquainted(110))).toBe(1);
    expect(budget(acquainted(230))).toBe(2);
    const machine = acquainted(230);
    expect(budget(machine)).toBe(2);
    machine.answer();
    machine.pass(100);
    // They count as wasted until they come back.
    expect(budget(machine, 100, 2)).toBe(0);
    machine.answer();
    machine.pass(100);
    machine.on({ type: 'release', owner: 'me', permits: 0, prefetchBudget: 2 });
    expect(budget(machine)).toBe(2);
  });

  it('may be four of a new mirror that a header tells of ample calls; once wasted, they are the hundredth of 400', () => {
    const told = (remaining: number) => ({ limit: 10_000, remaining });
    const machine = acquainted(0);
    machine.call(told(9_990), 'ai-signals');
    machine.pass(100);
    const ask = (upcoming?: number) => budget(machine, upcoming, 0, 'me', 'ai-signals');
    expect(ask()).toBe(4);
    machine.answer(told(9_989), 'ai-signals');
    for (let left = 9_988; left > 9_595; left -= 1) machine.call(told(left), 'ai-signals');
    machine.pass(1_000);
    expect(ask(10)).toBe(0);
    machine.answer(told(9_594), 'ai-signals');
    for (let left = 9_593; left > 9_480; left -= 1) machine.call(told(left), 'ai-signals');
    machine.pass(1_000);
    expect(ask(10)).toBe(1);
  });

  it('are none of a new mirror that has fewer than a hundred calls left', () => {
    const left = (remaining: number) => {
      const machine = acquainted(0);
      machine.call({ limit: 110, remaining }, 'ai-signals');
      machine.pass(100);
      return budget(machine, 10, 0, 'me', 'ai-signals');
    };
    expect([left(99), left(101)]).toEqual([0, 4]);
  });

  it('are none of a new mirror that stood still for a week, nor where calls are not ample', () => {
    const machine = acquainted(0);
    machine.call({ limit: 10_000, remaining: 9_990 }, 'ai-signals');
    machine.pass(100);
    expect(budget(machine, 9_000, 0, 'me', 'ai-signals')).toBe(0);
    machine.pass(7 * DAY);
    expect(budget(machine, 100, 0, 'me', 'ai-signals')).toBe(0);
  });

  it('of a day are forgotten as days pass: calls and waste alike', () => {
    const machine = acquainted(510);
    expect(budget(machine)).toBe(5);
    machine.answer();
    machine.pass(3 * DAY);
    expect(budget(machine)).toBe(0);
  });

  it('that a crash keeps from coming back stay wasted', () => {
    const machine = acquainted(230);
    expect(budget(machine)).toBe(2);
    machine.on({ type: 'gone', owner: 'me' });
    machine.pass(1_000);
    expect(budget(machine, 100, 0, 'another')).toBe(0);
    machine.on({ type: 'start', owner: 'me', again: false });
    machine.pass(1_000);
    expect(budget(machine)).toBe(0);
  });
});

describe('no prefetch is sent', () => {
  it.each([
    ['429', { status: 429 }],
    ['401', { status: 401 }],
    ['403', { status: 403 }],
    ['503', { status: 503 }],
  ])('after a %s', (_, answer) => {
    const machine = acquainted(2_000);
    machine.ask('news', 'me', 1);
    machine.answer(answer);
    const ahead = {
      type: 'ask',
      owner: 'me',
      job: 'news',
      want: 1,
      inFlight: 1,
      upcoming: 100,
      isPrefetch: true,
    } as const;
    // Nor is it the probe that finds out whether all is well again.
    for (const ms of [0, 1_000, 10_000, 61_000, HOUR, DAY]) {
      machine.pass(ms);
      expect(machine.on(ahead)).not.toHaveProperty('permits');
    }
  });

  it('where less is left than what is upcoming, others usually take, and a quarter of the pool', () => {
    const left = (remaining: number, upcoming: number) => {
      const machine = acquainted(0);
      for (let call = 200; call >= 0; call -= 1)
        machine.call({ limit: 10_000, remaining: remaining + call }, 'ai-signals');
      machine.pass(100);
      return budget(machine, upcoming, 0, 'me', 'ai-signals');
    };
    expect(left(9_000, 100)).toBe(4);
    expect(left(2_500, 100)).toBe(0);
    expect(left(9_000, 6_500)).toBe(0);
    expect(left(3_500, 100)).toBe(4);
    expect(left(3_500, 900)).toBe(0);
  });

  it.each([
    [2_650, 4],
    [2_649, 0],
  ])('where one less is left than those upcoming, the reserve and a quarter: of %i, %i', (level, given) => {
    const state = initialState();
    const quota = { ...state.quota, source: 'header' as const, limit: 10_000, level };
    const concurrency = { ...state.concurrency, proven: 4 };
    expect(budget(drive({ ...state, quota, concurrency }), 100)).toBe(given);
  });

  it('where less is left than is usually called until the quota resets: in a day, unless the period is known', () => {
    const left = (isPeriodKnown: boolean) => {
      const machine = acquainted(2_000);
      const limit = 3_000;
      for (let hour = 0; isPeriodKnown && hour < 3; hour += 1) {
        machine.pass(HOUR - 1_000 - (machine.now % HOUR));
        machine.call({ limit, remaining: 1_000 });
        machine.pass(HOUR - (machine.now % HOUR));
        machine.call({ limit, remaining: limit - 1 });
      }
      machine.call({ limit, remaining: 2_500 });
      machine.pass(100);
      return budget(machine);
    };
    expect([left(true), left(false)]).toEqual([5, 0]);
  });

  it.each([
    [944, 5],
    [943, 0],
  ])('where the next usual period is over in 50 minutes, and %i are left for it: %i', (level, given) => {
    const state = initialState();
    // It reset once, and never in 50 minutes: each hour, as far as is known.
    const resetAt = T0 - 70 * 60_000;
    const last = { afterAt: resetAt, beforeAt: resetAt };
    const window = { last, first: last, periods: 0, least: 50 * 60_000, most: null, quietSinceAt: resetAt };
    const machine = drive({
      ...state,
      concurrency: { ...state.concurrency, proven: 4 },
      prefetch: { requests: 2_000, wasted: 0, allowance: 0, asOfAt: T0 },
      quota: { ...state.quota, source: 'header', limit: 3_000, level, asOfAt: T0, window },
    });
    expect(budget(machine)).toBe(given);
  });

  it('at a quota of which nobody tells, once a call was refused for want of it', () => {
    expect(budget(acquainted(510))).toBe(5);
    const { state, now } = acquainted(510);
    expect(budget(drive({ ...state, quota: { ...state.quota, source: 'count' } }, now))).toBe(0);
  });
});

describe('the first 429', () => {
  it.each([
    ['meets prefetches, and half of what proves two at once was accepted', 1, 3, 'rate'],
    ['meets prefetches, and less than that was accepted', 1, 2, 'concurrency'],
    ['meets no prefetches', 0, 3, 'concurrency'],
  ])('with two in flight that %s (%i, %i) is for the %s', (_, wasted, streak, reason) => {
    const state = initialState();
    const machine = drive({
      ...state,
      prefetch: { ...state.prefetch, wasted },
      concurrency: { ...state.concurrency, streak },
    });
    machine.call({ status: 429, inFlight: 2 });
    expect(machine.shown.waits[0]?.reason).toBe(reason);
  });
});

describe('an outage that meets several calls of one endpoint', () => {
  it('counts as one failure', () => {
    const [one, several] = [acquainted(100), acquainted(100)];
    for (const [machine, calls] of [
      [one, 1],
      [several, 4],
    ] as const) {
      machine.ask('news', 'me', 4);
      for (let call = 0; call < calls; call += 1) machine.answer({ status: 503 });
    }
    expect(several.state.jobs['news']?.outage).toEqual(one.state.jobs['news']?.outage);
    expect(several.state.retryCredit).toBe(one.state.retryCredit);
  });

  it.each([
    [null, 20 * 60_000],
    [20 * 60_000, null],
    [20 * 60_000, 60_000],
  ])('lasts for the longest Retry-After of them, also for a person: of %j and %j ms', (first, second) => {
    const machine = acquainted(100);
    machine.ask('news', 'me', 2);
    for (const retryAfterMs of [first, second]) machine.answer({ status: 503, retryAfterMs });
    machine.on({ type: 'start', owner: 'another', again: true });
    machine.pass(20 * 60_000);
    expect(machine.ask()).toHaveProperty('wait.reason', 'unavailable');
    machine.pass(60_000);
    expect(machine.ask()).toHaveProperty('permits');
  });

  it.each([
    ['before', 'no other', 1, 1],
    ['when', 'another', 0, 2],
  ])('meets one that is answered %s the next may go: %s failure', (_when, _which, earlyMs, failures) => {
    const machine = acquainted(100);
    machine.ask('news', 'me', 2);
    machine.answer({ status: 503 });
    const { outage } = machine.state.jobs['news'] ?? {};
    machine.pass((outage?.resumeAt ?? 0) - machine.now - earlyMs);
    machine.answer({ status: 503 });
    expect(machine.state.jobs['news']?.outage?.failures).toBe(failures);
  });
});

describe('the governor', () => {
  /** A governor that knows the API, with the call of a walk under way. */
  async function underWay() {
    const bench = setup();
    for (let call = 0; call < 600; call += 1) await callFine(bench.governor);
    await bench.clock.sleep(1_000);
    const kept = bench.shared.state;
    if (kept) kept.concurrency = { ...kept.concurrency, proven: 4 };
    const complete = await bench.governor.acquire('news', never, { upcoming: 100 });
    return { ...bench, complete };
  }
  const ahead = { upcoming: 100, isPrefetch: true };

  it('gives budget for prefetches, and takes it back', async () => {
    const { governor, shared, clock, complete } = await underWay();
    const wasted = () => shared.state?.prefetch.wasted ?? 0;
    const given = Array.from({ length: 6 }, () => governor.reservePrefetch());
    expect(given).toEqual([true, true, true, true, true, false]);
    expect(wasted()).toBeCloseTo(5, 2);
    for (const comesBack of [true, true, true, true, false]) governor.endPrefetch(comesBack);
    complete(fine);
    await clock.sleep(2_000);
    expect(wasted()).toBeCloseTo(1, 2);
  });

  it('gives none of it twice: prefetches that may yet prove wasted are within it', async () => {
    const { governor, clock, complete: completeFirst } = await underWay();
    let complete = completeFirst;
    const nextBudget = async () => {
      complete(fine);
      await clock.sleep(1_000);
      complete = await governor.acquire('news', never, { upcoming: 100 });
      let given = 0;
      while (governor.reservePrefetch()) given += 1;
      return given;
    };
    for (let call = 0; call < 2; call += 1) governor.reservePrefetch();
    expect(await nextBudget()).toBe(3);
    for (let call = 0; call < 4; call += 1) governor.endPrefetch(true);
    expect(await nextBudget()).toBe(4);
  });

  it('keeps no budget that comes back when nobody calls any longer', async () => {
    const { governor, shared, clock, complete } = await underWay();
    expect(governor.reservePrefetch()).toBe(true);
    complete(fine);
    await clock.sleep(2_000);
    expect(shared.state?.prefetch.wasted).toBeCloseTo(1, 2);
    governor.endPrefetch(true);
    await clock.sleep(2_000);
    expect(shared.state?.prefetch.wasted).toBeCloseTo(0, 2);
  });

  it('asks for budget where a walk wants prefetches, though it holds permits', async () => {
    const { governor, shared, clock } = setup();
    for (let call = 0; call < 600; call += 1) await callFine(governor);
    await clock.sleep(1_000);
    await callFine(governor);
    const before = shared.transactions;
    await callFine(governor);
    expect(shared.transactions - before, 'it holds one').toBe(0);
    expect(governor.reservePrefetch()).toBe(false);
    await governor.acquire('news', never, { upcoming: 100 });
    expect(governor.reservePrefetch()).toBe(true);
  });

  it('lets whoever waits go before them', async () => {
    const { governor, clock, complete } = await underWay();
    const went: string[] = [];
    const inFlight = [complete];
    const go = async (name: string, job: string, asking = {}) => {
      inFlight.push(await governor.acquire(job, never, asking));
      went.push(name);
    };
    for (let call = 0; call < 4; call += 1) governor.reservePrefetch();
    const all = ['first', 'second', 'third', 'fourth'].map((name) => go(name, 'news', ahead));
    await clock.sleep(1_000);
    // As many are under way as may be; one more prefetch waits, and behind it a call whose turn has come.
    all.push(go('late prefetch', 'news', ahead), go('another job', 'usage'));
    await clock.sleep(1_000);
    const before = went.length;
    inFlight.shift()?.(fine);
    await clock.sleep(1_000);
    expect(went.slice(before)).toEqual(['another job']);
    expect(governor.waits('news')).toBe(false);
    for (const completeNext of inFlight) completeNext(fine);
    await Promise.all(all);
  });

  it('keeps them waiting where one more would be as many as were refused', async () => {
    const bench = setup();
    const { governor, clock, shared } = bench;
    for (let call = 0; call < 600; call += 1) await callFine(governor);
    await clock.sleep(1_000);
    const kept = shared.state;
    if (kept) kept.concurrency = { ...kept.concurrency, proven: 4, refused: 5, steadyCalls: 1_000 };
    const complete = await governor.acquire('news', never, { upcoming: 100 });
    let went = 0;
    const all = Array.from({ length: 4 }, async () => {
      expect(governor.reservePrefetch()).toBe(true);
      await governor.acquire('news', never, ahead);
      went += 1;
    });
    await clock.sleep(10_000);
    expect(went).toBe(3);
    complete(fine);
    await clock.sleep(100);
    expect(went).toBe(4);
    await Promise.all(all);
  });

  it('refuses them at once where calls have to wait', async () => {
    const { governor, complete } = await underWay();
    expect(governor.reservePrefetch()).toBe(true);
    complete({ ...fine, status: 429 });
    await expect(governor.acquire('news', never, ahead)).rejects.toThrow();
    governor.endPrefetch(true);
    expect(governor.waits('news')).toBe(false);
  });
});
