import { describe, expect, it } from 'vitest';
import { mean, median } from '../../lab/figures.ts';
import { hasSettled } from '../../src/governor/rate.ts';
import { initialState } from '../../src/governor/state.ts';
import { drive, T0 } from './drive.ts';

const DAY = 86_400_000;

describe('the pace', () => {
  it('is found with few refusals, and kept just below what the API gives', () => {
    const lives = limits.map(([perSecond, burst]) => {
      const { machine, api } = learnt(perSecond, burst);
      return { refused: api.refused, ...settledAt(machine, perSecond) };
    });
    expectSettledBelow(lives);
    expect(mean(lives.map(({ refused }) => refused))).toBeLessThan(4.5);
  });

  it('follows a limit that rose, and is not deceived by what the API gives at once', () => {
    const lives = limits.map(([perSecond, burst]) => {
      const { machine, api } = learnt(perSecond, burst);
      Object.assign(api, { perSecond: 2 * perSecond, burst: 2 * burst, refused: 0 });
      for (let call = 0; call < 2_000; call += 1) api.call();
      return { refused: api.refused, ...settledAt(machine, 2 * perSecond) };
    });
    expectSettledBelow(lives);
    expect(mean(lives.map(({ refused }) => refused))).toBeLessThan(7);
  });

  it('follows a limit that fell', () => {
    const { machine, api } = learnt(5, 10);
    Object.assign(api, { perSecond: 2, burst: 4, refused: 0 });
    for (let call = 0; call < 400; call += 1) api.call();
    expect(machine.shown.rate.perSecond).toBeGreaterThan(1.8);
    expect(machine.shown.rate.perSecond).toBeLessThan(2);
    expect(api.refused).toBeLessThanOrEqual(8);
  });

  it('is not tried faster while calls wait for quota, and not for it', () => {
    const { machine, api } = learnt(5, 10);
    api.refused = 0;
    for (let call = 0; call < 3_000; call += 1) {
      if (call % 400 === 0) machine.call({ limit: 400, remaining: 0 });
      if (call % 400 === 0) machine.pass(DAY);
      api.call();
    }
    expect(api.refused).toBe(0);
  });

  it('is tried faster after 400 calls at the one that lasts, and no call sooner', () => {
    const { machine, api } = learnt(5, 10);
    Object.assign(api, { perSecond: 1_000, burst: 1_000 });
    while (machine.state.rate.trial) api.call();
    let calls = machine.state.rate.steadyCalls;
    for (; !machine.state.rate.trial; calls += 1) api.call();
    expect(calls).toBe(400);
  });

  it('that lasts and is refused after a rest falls by a twentieth; refused twice within twenty calls, it is measured anew', () => {
    const after = (restMs: number, calls: number) => {
      const { machine, api } = learnt(5, 10);
      while (machine.state.rate.trial) api.call();
      const before = machine.state.rate.perSecond;
      for (let refusal = 0; refusal < 2; refusal += 1) {
        machine.pass(restMs);
        for (let call = 0; call < calls; call += 1) machine.call();
        machine.call({ status: 429 });
        machine.call();
      }
      const { rate } = machine.state;
      return [hasSettled(rate), rate.perSecond / before];
    };
    expect(after(60_000, 5)).toEqual([true, expect.closeTo(0.95 ** 2, 5)]);
    expect(after(0, 20)).toEqual([true, expect.closeTo(0.95 ** 2, 5)]);
    expect(after(0, 19)[0]).toBe(false);
  });

  it.each([
    [199, 12],
    [200, 10],
  ])(
    'is felt by calls that come as soon as they may: one %i ms after the first makes it %i',
    (ms, perSecond) => {
      const machine = drive();
      machine.ask();
      machine.pass(ms);
      machine.ask('usage');
      machine.answer();
      machine.answer({}, 'usage');
      expect(machine.state.rate.perSecond).toBe(perSecond);
    },
  );

  it('that is being tried is known to last as soon after a rest as without', () => {
    const { rate, ...state } = initialState();
    const opening = { calls: 10, seconds: 1, recovery: 1 };
    const trial = { sinceAt: T0 - 1_000, calls: 5 };
    const machine = drive({
      ...state,
      rate: { ...rate, perSecond: 5, least: 4, most: 7, opening, trial, freeAt: T0 },
    });
    machine.pass(60_000);
    let calls = 0;
    for (; machine.state.rate.least < 5; calls += 1) machine.call();
    expect(calls).toBeLessThan(100);
  });

  it.each([
    ['as probes were refused', 2, null, 7_000, 70_000],
    ['as the API told', 0, 40_000, 1_000, 3_000],
  ])(
    'that once took long to recover from, %s, is then probed as it should',
    (_, refused, retryAfterMs, least, most) => {
      const machine = drive();
      const told = { limit: 10_000, remaining: 9_000 };
      const throttle = (failed: number, retryAfterMs: number | null = null) => {
        for (let call = 0; call < 30; call += 1) machine.call(told);
        machine.call({ status: 429, retryAfterMs });
        for (let probe = 0; probe < failed; probe += 1) machine.call({ status: 429 });
        return machine.call(told);
      };
      throttle(0);
      throttle(refused, retryAfterMs);
      const waited = throttle(0);
      expect(waited).toBeGreaterThanOrEqual(least);
      expect(waited).toBeLessThan(most);
    },
  );

  it('that was refused though it had lasted is tried again after ten seconds, not after one', () => {
    const { machine } = learnt(5, 10);
    machine.call({ status: 429 });
    expect(machine.call()).toBeGreaterThan(10_000);
  });

  it.each([
    ['a header tells that calls are left', { limit: 10_000, remaining: 9_000 }, false],
    ['a faster one was being tried', {}, true],
  ])('that was refused where %s is tried again soon', (_, told, isTrial) => {
    const { machine, api } = learnt(5, 10);
    while (machine.state.rate.trial) api.call();
    while (isTrial && !machine.state.rate.trial) machine.call();
    for (let call = 0; call < 25; call += 1) machine.call(told);
    machine.call({ status: 429 });
    expect(machine.call()).toBeLessThan(5_000);
  });

  it('that took a minute to recover from once is not asked again after a second', () => {
    const machine = drive();
    machine.call({ status: 429 });
    for (let failed = 0; failed < 5; failed += 1) machine.call({ status: 429 });
    for (let call = 0; call < 30; call += 1) machine.call();
    machine.call({ status: 429 });
    expect(machine.call()).toBeGreaterThan(7_000);
  });
});

/** Calls a second, and how many at once: what one of them does is chance. */
const limits = [2, 3, 5, 7, 10, 15].flatMap((perSecond) =>
  [1, 2, 3].map((seconds) => [perSecond, perSecond * seconds] as const),
);

/** What the machine keeps to, as a part of what the API gives. */
function settledAt({ state: { rate } }: ReturnType<typeof drive>, perSecond: number) {
  return { isSettled: hasSettled(rate), part: rate.perSecond / perSecond };
}

/** A trial may be on in some of them; and a burst hides for minutes that a pace is a little too fast. */
function expectSettledBelow(lives: { isSettled: boolean; part: number }[]) {
  const settled = lives.filter(({ isSettled }) => isSettled).map(({ part }) => part);
  expect(settled.length).toBeGreaterThan(lives.length / 2);
  expect(median(settled)).toBeGreaterThan(0.96);
  expect(median(settled)).toBeLessThan(1);
  expect(settled.filter((part) => part > 1).length).toBeLessThanOrEqual(settled.length / 5);
}

/** Four hundred calls in, of an API as `bucket` makes it. */
function learnt(perSecond: number, burst: number) {
  const machine = drive();
  const api = bucket(machine, perSecond, burst);
  for (let call = 0; call < 400; call += 1) api.call();
  return { machine, api };
}

/** An API that gives `perSecond` calls a second, and `burst` of them at once. */
function bucket(machine: ReturnType<typeof drive>, perSecond: number, burst: number) {
  let level = burst;
  let filledAt = machine.now;
  return {
    perSecond,
    burst,
    refused: 0,
    call() {
      for (let decision = machine.ask(); !('permits' in decision); decision = machine.ask())
        machine.pass('wait' in decision ? Math.max(1, decision.wait.until - machine.now) : 1);
      level = Math.min(this.burst, level + ((machine.now - filledAt) * this.perSecond) / 1_000);
      filledAt = machine.now;
      machine.pass(20);
      if (level < 1) this.refused += 1;
      machine.answer({ status: level < 1 ? 429 : 200 });
      level = Math.max(0, level - (level < 1 ? 0 : 1));
    },
  };
}
