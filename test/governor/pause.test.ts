import { describe, expect, it } from 'vitest';
import { drive } from './drive.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe('after an answer 429', () => {
  it('no job calls before the time that the API said, and a little after it one call alone does', () => {
    const machine = drive();
    machine.call({ status: 429, retryAfterMs: 30_000 });
    const refusedAt = machine.now;
    for (const job of ['news', 'usage']) {
      const decision = machine.ask(job);
      expect(decision).toMatchObject({ wait: { reason: 'retry_after' } });
      expect('wait' in decision && decision.wait.until).toBeGreaterThan(refusedAt + 30_000);
      expect('wait' in decision && decision.wait.until).toBeLessThan(refusedAt + 35_000);
    }
    machine.pass(35_000);
    expect(machine.ask('news')).toMatchObject({ permits: 1 });
    expect(machine.ask('usage')).toMatchObject({ wait: {} });
    machine.answer();
    expect(machine.call({}, 'usage')).toBeLessThan(2_000);
  });

  it.each([
    ['absent', null],
    ['not a number', Number.NaN],
    ['negative', -5_000],
    ['zero', 0],
    ['without end', Number.POSITIVE_INFINITY],
  ])('a Retry-After that is %s is ignored', (_, retryAfterMs) => {
    const machine = drive();
    machine.call({ status: 429, retryAfterMs });
    const waited = machine.call();
    expect(waited).toBeGreaterThanOrEqual(1_000);
    expect(waited).toBeLessThan(2_000);
  });

  it('a Retry-After of a year means a day', () => {
    const machine = drive();
    machine.call({ status: 429, retryAfterMs: 365 * DAY });
    const waited = machine.call();
    expect(waited).toBeGreaterThanOrEqual(DAY);
    expect(waited).toBeLessThan(DAY + 10_000);
  });

  it.each([
    ['a second, ten seconds and a minute', {}, [1, 10, 61]],
    [
      'those, and twice as late each time, where calls are left',
      { limit: 10_000, remaining: 9_000 },
      [1, 10, 61, 122, 244],
    ],
  ])('the probes come a little after %s', (_, told, due) => {
    const machine = drive();
    machine.call(told);
    machine.call({ status: 429 });
    const refusedAt = machine.now;
    const asked = due.map(() => {
      machine.call({ status: 429 });
      return (machine.now - refusedAt) / 1_000;
    });
    for (const [index, after] of asked.entries()) {
      expect(after).toBeGreaterThan(due[index] as number);
      expect(after).toBeLessThan(1.3 * (due[index] as number));
    }
  });

  it('an account that was dry from the first call on is probed more and more seldom, not just after days', () => {
    const machine = drive();
    machine.call({ status: 429 });
    for (let failed = 0; failed < 3; failed += 1) machine.call({ status: 429 });
    const waits = [1, 2, 3].map(() => machine.call({ status: 429 }));
    expect(waits[0]).toBeLessThan(15 * 61_000);
    expect(waits[1]).toBeLessThan(HOUR);
    expect(waits[2]).toBeLessThan(DAY);
    machine.call();
    expect(machine.call(), 'and its size is not known by that').toBeLessThan(1_000);
  });

  it('one alone is not refused for the number under way', () => {
    const alone = drive();
    alone.call({ status: 429 });
    expect(alone.shown.waits[0]?.reason).toBe('rate');
    const machine = drive();
    machine.call();
    machine.ask();
    machine.answer({ status: 429, inFlight: 2 });
    expect(machine.shown.waits[0]?.reason).toBe('concurrency');
    machine.call({ status: 429 });
    expect(machine.shown.waits[0]?.reason).toBe('rate');
    machine.call();
    expect(machine.shown.concurrency.confidence).toBe('none');
  });

  it('calls of other processes beside it count, also where they have ended by its answer', () => {
    const machine = drive();
    machine.call();
    machine.ask();
    machine.answer({ status: 429, inFlight: 1, othersInFlight: 1 });
    expect(machine.shown.waits[0]?.reason).toBe('concurrency');
    machine.call();
    expect(machine.shown.concurrency.evidence).toMatch(/^2 at once were refused/);
  });

  it('several together are not refused for their number', () => {
    const machine = drive();
    machine.call();
    for (const job of ['news', 'usage']) {
      machine.pass(1_000);
      machine.ask(job);
    }
    for (const job of ['news', 'usage']) machine.answer({ status: 429, inFlight: 2 }, job);
    machine.call();
    expect(machine.shown.concurrency.confidence).toBe('none');
    expect(machine.shown.rate.confidence).not.toBe('none');
  });

  it('what is still refused after a minute was the quota', () => {
    const machine = drive();
    for (let call = 0; call < 20; call += 1) machine.call();
    machine.call({ status: 429 });
    for (let failed = 0; failed < 3; failed += 1) machine.call({ status: 429 });
    machine.call();
    expect(machine.shown.quota).toMatchObject({ source: 'count', limit: 20 });
  });

  it('where others used up the quota during a pause, it was empty from the refusal on, until the accepted call', () => {
    const machine = drive();
    // Others make nine calls a second.
    for (let remaining = 190; remaining >= 30; remaining -= 20) {
      machine.call({ limit: 200, remaining });
      machine.pass(2_000);
    }
    machine.call({ status: 429 });
    const refusedAt = machine.now;
    expect(machine.shown.waits[0]?.reason).toBe('rate');
    machine.call();
    expect(machine.state.quota.window.last).toEqual({ afterAt: refusedAt, beforeAt: machine.now });
  });

  it('a machine that slept through the pause learnt nothing of how long it had to be', () => {
    const machine = drive();
    for (let call = 0; call < 20; call += 1) machine.call();
    machine.call({ status: 429 });
    machine.pass(10 * HOUR);
    machine.call();
    expect(machine.shown.quota.source).toBeNull();
    expect(machine.shown.rate.perSecond).not.toBeNull();
  });

  it('answers to calls that were already under way do not lengthen the pause', () => {
    const machine = drive();
    for (let call = 0; call < 10; call += 1) machine.call();
    machine.pass(1_000);
    machine.ask('news');
    machine.ask('usage');
    machine.answer({ status: 429, inFlight: 2 }, 'news');
    const first = machine.shown.waits[0]?.until;
    machine.answer({ status: 429, inFlight: 2 }, 'usage');
    expect(machine.shown.waits[0]?.until).toBe(first);
  });

  it('the probe waits until all that was under way is answered', () => {
    const machine = drive();
    for (let call = 0; call < 10; call += 1) machine.call();
    machine.pass(1_000);
    machine.ask('news');
    machine.pass(1_000);
    machine.ask('usage');
    machine.answer({ status: 429, inFlight: 2 }, 'news');
    machine.pass(10_000);
    expect(machine.ask('news')).toMatchObject({ wait: {} });
    machine.answer({}, 'usage');
    expect(machine.ask('news')).toMatchObject({ permits: 1 });
  });

  it('a probe that will not be answered is followed by another', () => {
    const machine = drive();
    machine.call({ status: 429 });
    machine.pass(2_000);
    expect(machine.ask('news', 'two')).toMatchObject({ permits: 1 });
    expect(machine.ask('usage')).toMatchObject({ wait: {} });
    machine.on({ type: 'gone', owner: 'two' });
    expect(machine.ask('usage')).toMatchObject({ permits: 1 });
  });

  it.each([
    ['news', 'another'],
    ['usage', 'me'],
  ])('the answer to a late call of %s by %s is not that of the probe', (job, owner) => {
    const machine = drive();
    machine.call({ status: 429 });
    machine.pass(2_000);
    expect(machine.ask('news', 'me')).toMatchObject({ permits: 1 });
    for (const status of [200, 429]) machine.answer({ status }, job, owner);
    expect(machine.state.pause).toMatchObject({ failures: 0, probe: { owner: 'me', job: 'news' } });
  });

  it.each([1, 24, 7 * 24])(
    '%i hours in which nobody asked say nothing of the pace, and lengthen no wait',
    (hours) => {
      const machine = drive();
      for (let call = 0; call < 30; call += 1) machine.call();
      machine.call({ status: 429 });
      machine.pass(hours * HOUR);
      machine.call({ status: 429 });
      expect(machine.call()).toBeLessThan(61_000);
      expect(machine.shown.rate.perSecond).toBeGreaterThan(0.5);
      machine.call({ status: 429 });
      expect(machine.call()).toBeLessThan(61_000);
    },
  );

  it('a probe that is repeated late counts its delay once', () => {
    const machine = drive();
    for (let call = 0; call < 30; call += 1) machine.call();
    machine.call({ status: 429 });
    for (let lost = 0; lost < 3; lost += 1) {
      machine.pass(HOUR);
      machine.ask();
      machine.answer({ status: 401 });
      machine.on({ type: 'key' });
    }
    machine.call();
    machine.call({ status: 429 });
    expect(machine.call()).toBeLessThan(15_000);
  });
});
