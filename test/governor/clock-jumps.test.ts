import { describe, expect, it } from 'vitest';
import { virtualClock } from '../../lab/simulate/clock.ts';
import { callFine, callOnce, fine, never, setup } from './bench.ts';
import { drive, T0 } from './drive.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('a clock that was three days ahead for a while', () => {
  it('leaves no wait behind, though others use the account as well, and says nothing of what they take', () => {
    const machine = jumped();
    expect(machine.call({ limit: 1_000, remaining: 490 })).toBeLessThan(MINUTE);
    expect(machine.shown.quota.othersPerHour).toBe(0);
    expect(machine.call({ limit: 1_000, remaining: 480 })).toBeLessThan(MINUTE);
  });

  it('says nothing of the period either', () => {
    const machine = jumped();
    machine.call({ limit: 1_000, remaining: 999 });
    machine.pass(-3 * DAY);
    for (let left = 998; left > 900; left -= 1) machine.call({ limit: 1_000, remaining: left });
    expect(machine.shown.quota.refill.kind).toBe('unknown');
  });

  it('takes nothing from the pace, and a period that was known for sure is known again after two resets', () => {
    const machine = drive();
    for (let call = 0; call < 40; call += 1) machine.call();
    machine.call({ status: 429 });
    for (let hour = 0; hour < 5; hour += 1) {
      for (let left = 99; left > 80; left -= 1) {
        machine.call({ limit: 100, remaining: left });
        machine.pass(2 * MINUTE);
      }
      machine.pass(HOUR - (machine.now % HOUR));
    }
    const known = machine.shown;
    expect(known.quota.refill).toMatchObject({ kind: 'window', periodMs: HOUR, confidence: 'sure' });
    machine.pass(3 * DAY);
    machine.call({ limit: 100, remaining: 98 });
    machine.pass(-3 * DAY);
    machine.call({ limit: 100, remaining: 97 });
    const pace = machine.shown.rate.perSecond;
    expect(pace).toBeCloseTo(known.rate.perSecond ?? 0, 5);
    // What looked like a reset three days later spoiled the moment; two more tell it again, and the same period.
    for (let minute = 0; minute < 130; minute += 1) {
      machine.call({ limit: 100, remaining: minute < 50 ? 90 - minute : 99 - ((minute - 50) % 60) });
      machine.pass(MINUTE);
    }
    expect(machine.shown.quota.refill).toMatchObject({ periodMs: HOUR });
  });

  it('does not shorten what the API told to wait', () => {
    const machine = jumped();
    machine.pass(3 * DAY);
    machine.call({ status: 429, retryAfterMs: 10 * MINUTE });
    machine.pass(-3 * DAY);
    const waited = machine.call();
    expect(waited).toBeGreaterThanOrEqual(10 * MINUTE);
    expect(waited).toBeLessThan(11 * MINUTE);
  });
});

it.each([
  [100, 0],
  [101, -101],
])('a clock that another process reads %i ms earlier moves the end of a wait by %i ms', (earlierMs, byMs) => {
  const machine = drive();
  machine.call({ status: 429, retryAfterMs: HOUR });
  const before = machine.state.pause?.resumeAt ?? 0;
  machine.pass(-earlierMs);
  machine.ask();
  expect((machine.state.pause?.resumeAt ?? 0) - before).toBe(byMs);
});

it('a jump that is told throws away what was reckoned across it, though the clock went forward', () => {
  const machine = shared();
  machine.pass(3 * DAY);
  machine.on({ type: 'clock' });
  machine.call({ limit: 1_000, remaining: 500 });
  expect(machine.shown.quota).toMatchObject({
    othersPerHour: 0,
    refill: { kind: 'unknown' },
  });
});

it.each([
  [2, null],
  [3, HOUR],
])('a jump that is told leaves the period of %i resets: %j ms', (resets, most) => {
  const machine = drive();
  for (let hour = 1; hour <= resets; hour += 1)
    for (const [late, remaining] of [
      [-SECOND, 50],
      [0, 99],
    ] as const) {
      machine.pass(T0 + hour * HOUR + late - 50 - machine.now);
      machine.call({ limit: 100, remaining });
    }
  machine.on({ type: 'clock' });
  const { window } = machine.state.quota;
  expect(window).toMatchObject({ last: null, periods: 0 });
  expect(window.most && Math.floor(window.most / MINUTE) * MINUTE).toBe(most);
});

it('a jump that is told has an account probed soon again that was dry from its first call on', () => {
  const machine = drive();
  for (let failed = 0; failed < 5; failed += 1) machine.call({ status: 429 });
  machine.pass(3 * DAY);
  machine.on({ type: 'clock' });
  machine.call({ status: 429 });
  expect(machine.call()).toBeLessThan(15 * MINUTE);
});

describe('what others seem to take', () => {
  it('keeps a call waiting for a minute at most, where the API last told of more than a tenth of the pool', () => {
    const machine = crowded(3_500);
    machine.pass(10 * MINUTE);
    expect(machine.shown.quota.remaining).toBe(0);
    expect(machine.call({ limit: 30_000, remaining: 200 })).toBeLessThan(MINUTE);
  });

  it('keeps nobody waiting after a start', () => {
    const machine = crowded(240);
    machine.pass(40 * SECOND);
    expect(machine.ask()).toMatchObject({ wait: {} });
    machine.on({ type: 'start', owner: 'another', again: false });
    expect(machine.ask()).toMatchObject({ permits: 1 });
  });
});

describe('a start', () => {
  it('probes an empty quota at once, and another one within the hour does not', () => {
    const machine = drive();
    machine.call({ limit: 100, remaining: 0 });
    machine.pass(SECOND);
    machine.on({ type: 'start', owner: 'me', again: false });
    expect(machine.call({ status: 429 })).toBe(0);
    machine.on({ type: 'start', owner: 'me', again: false });
    machine.pass(SECOND);
    expect(machine.ask()).toMatchObject({ wait: {} });
    machine.pass(HOUR);
    machine.on({ type: 'start', owner: 'me', again: false });
    expect(machine.ask()).toMatchObject({ permits: 1 });
  });

  it('does not probe before the end of what the API told to wait', () => {
    const machine = drive();
    machine.call({ status: 429, retryAfterMs: HOUR });
    machine.on({ type: 'start', owner: 'me', again: false });
    expect(machine.call()).toBeGreaterThanOrEqual(HOUR);
  });
});

describe('the governor, when the clock was set', () => {
  it('who waits is served by the clock as it is now, and the others hear of it', async () => {
    const { governor, time, set } = setupClock();
    for (let left = 5; left > 3; left -= 1) {
      await callOnce(governor, { ...fine, limit: 1_000, remaining: left * 150 });
    }
    set.ahead = 3 * DAY;
    governor.clockJumped();
    await callOnce(governor, { ...fine, limit: 1_000, remaining: 3 });
    set.ahead = 0;
    governor.clockJumped();
    const begin = time.now();
    await governor.acquire('news', never);
    expect(time.now() - begin).toBeLessThan(3_000);
  });

  it('what was reckoned across that is thrown away, and nothing else', async () => {
    const { governor, shared, clock, set } = setupClock();
    for (let left = 9; left > 0; left -= 1) {
      await callOnce(governor, { ...fine, limit: 1_000, remaining: left * 100 });
    }
    set.ahead = 3 * DAY;
    governor.clockJumped();
    const unexplained = { sinceAt: clock.now(), calls: 0 };
    expect(shared.state?.quota).toMatchObject({ responses: 9, level: 100, unexplained });
  });

  it('who waits when it is set back a little is not kept waiting for that as well', async () => {
    const { governor, time, set } = setupClock();
    await callOnce(governor, { ...fine, status: 503 });
    const begin = time.now();
    const waiting = governor.acquire('news', never);
    await time.sleep(SECOND);
    set.ahead = -2 * SECOND;
    await waiting;
    expect(time.now() - begin).toBeLessThan(3.2 * SECOND);
  });

  it('a permit that was given by a clock that was ahead is given back', async () => {
    const { governor, shared, set } = setupClock();
    for (let call = 0; call < 30; call += 1) await callFine(governor);
    set.ahead = 3 * DAY;
    await callFine(governor);
    set.ahead = 0;
    const before = shared.transactions;
    await callFine(governor);
    expect(shared.transactions).toBeGreaterThan(before);
  });
});

/** A governor by a clock that a test sets. */
function setupClock() {
  const time = virtualClock();
  const set = { ahead: 0 };
  return { ...setup({}, { ...time, now: () => time.now() + set.ahead }), time, set };
}

/** Others take nearly twenty calls a second of an account of 1,000. */
function shared() {
  const machine = drive();
  for (let call = 0; call < 6; call += 1) {
    machine.call({ limit: 1_000, remaining: 950 - call * 20 });
    machine.pass(SECOND);
  }
  return machine;
}

/** Five seconds of true time, five of three days later, and true time again. */
function jumped() {
  const machine = shared();
  machine.pass(3 * DAY);
  machine.call({ limit: 1_000, remaining: 510 });
  machine.pass(5 * SECOND - 3 * DAY);
  return machine;
}

/** A large account that was little used for days, until others took all but `left` of it in a minute. */
function crowded(left: number) {
  const machine = drive();
  const limit = 30_000;
  for (let call = 0; call < 10; call += 1) {
    machine.call({ limit, remaining: limit - 1 - call });
    machine.pass(10 * HOUR);
  }
  for (let call = 1; call <= 12; call += 1) {
    machine.call({ limit, remaining: limit - Math.round((call / 12) * (limit - left)) });
    machine.pass(5 * SECOND);
  }
  return machine;
}
