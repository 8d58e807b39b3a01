import { describe, expect, it } from 'vitest';
import { allowedInFlight } from '../../src/governor/concurrency.ts';
import { initialState, isNewer, readState } from '../../src/governor/state.ts';
import { drive, T0 } from './drive.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('when the key is refused', () => {
  it('nothing calls, except one call an hour to see', () => {
    const machine = drive();
    machine.call({ status: 401 });
    expect(machine.ask('news')).toMatchObject({ refused: 'key_refused', until: machine.now + HOUR });
    expect(machine.ask('usage')).toMatchObject({ refused: 'key_refused' });
    machine.pass(HOUR);
    expect(machine.ask('usage')).toMatchObject({ permits: 1 });
    expect(machine.ask('news')).toMatchObject({ refused: 'key_refused' });
  });

  it.each([
    ['another key', { type: 'key' }, 'permits'],
    ['a person who wants it tried', { type: 'start', owner: 'another', again: true }, 'permits'],
    ['a start that nobody watches', { type: 'start', owner: 'another', again: false }, 'refused'],
  ] as const)('%s: %j', (_, event, member) => {
    const machine = drive();
    machine.call({ status: 401 });
    machine.on(event);
    machine.pass(1_000);
    expect(machine.ask()).toHaveProperty(member);
  });

  it('for lack of a scope, that job alone stops, and tries after five minutes, then once a day', () => {
    const machine = drive();
    const refused = (ms: number) => ({ refused: 'forbidden', until: machine.now + ms });
    machine.call({ status: 403 }, 'news');
    expect(machine.ask('news')).toMatchObject(refused(5 * MINUTE));
    machine.call({}, 'usage');
    machine.pass(5 * MINUTE);
    for (let refusals = 2; refusals <= 4; refusals += 1) {
      machine.call({ status: 403 }, 'news');
      expect(machine.ask('news')).toMatchObject(refused(DAY));
      machine.pass(DAY);
    }
    machine.call({}, 'news');
    machine.call({ status: 403 }, 'news');
    expect(machine.ask('news')).toMatchObject(refused(5 * MINUTE));
    machine.pass(5 * MINUTE);
    machine.call({}, 'news');
  });

  it('for lack of a scope, calls that were in flight together are one refusal', () => {
    const machine = drive();
    machine.ask('news');
    for (let calls = 0; calls < 3; calls += 1) machine.answer({ status: 403 });
    expect(machine.ask('news')).toMatchObject({ refused: 'forbidden', until: machine.now + 5 * MINUTE });
  });

  it('by a firewall, it alone waits: a minute, twice as long each time, an hour at most', () => {
    const machine = drive();
    const waits = Array.from({ length: 8 }, () => {
      machine.call({ status: 403, isBlocked: true }, 'news');
      const decision = machine.ask('news');
      if (!('wait' in decision)) throw new Error('it does not wait');
      expect(decision.wait.reason).toBe('blocked');
      machine.call({}, 'usage');
      const waited = decision.wait.until - machine.now;
      machine.pass(waited);
      return Math.floor(waited / MINUTE);
    });
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    machine.call({}, 'news');
    machine.call({}, 'news');
  });
});

describe('when an endpoint is unavailable', () => {
  it.each([500, 503])('it alone waits after a %i, and twice as long after each failure', (status) => {
    const machine = drive();
    machine.call({ status }, 'news');
    expect(machine.ask('news')).toMatchObject({ wait: { reason: 'unavailable' } });
    expect(machine.call({}, 'usage')).toBeLessThan(500);
    const first = machine.call({ status }, 'news');
    const second = machine.call({ status }, 'news');
    expect(second).toBeGreaterThan(1.5 * first);
  });

  it('its Retry-After is honoured in full, with jitter on top', () => {
    const machine = drive();
    machine.call({ status: 503, retryAfterMs: 20 * 60_000 });
    expect(machine.call()).toBeGreaterThan(20 * 60_000 + 1_000);
  });

  it('a person who asks for it has each endpoint tried once at once, whoever else failed', () => {
    const machine = drive();
    const jobs = ['news', 'usage', 'meme-signals'];
    for (let round = 0; round < 5; round++) for (const job of jobs) machine.call({ status: 502 }, job);
    machine.pass(1);
    expect(machine.ask('news')).toHaveProperty('wait.reason', 'unavailable');
    machine.on({ type: 'start', owner: 'nobody watches', again: false });
    expect(machine.ask('news')).toHaveProperty('wait.reason', 'unavailable');
    machine.on({ type: 'start', owner: 'another', again: true });
    for (const job of jobs) {
      expect(machine.call({ status: 502 }, job)).toBeLessThan(500);
      expect(machine.ask(job)).toHaveProperty('wait.reason', 'unavailable');
    }
    expect(machine.state.retryCredit, 'and no oftener').toBe(0);
  });

  it('a person need not wait at all where the API did not say for how long', () => {
    const machine = drive();
    machine.call({ status: 503 });
    machine.on({ type: 'start', owner: 'another', again: true });
    machine.pass(100);
    expect(machine.ask()).toHaveProperty('permits');
  });

  it('a Retry-After holds for a person, too', () => {
    const machine = drive();
    machine.call({ status: 503, retryAfterMs: 20 * 60_000 });
    machine.on({ type: 'start', owner: 'another', again: true });
    machine.pass(19 * 60_000);
    expect(machine.ask()).toHaveProperty('wait.reason', 'unavailable');
  });

  it('the calls that try again stay under a tenth of the traffic and one a minute, of all endpoints together', () => {
    const machine = drive();
    const began = machine.now;
    // So many that their own pauses would not keep to the bound.
    const down = Array.from({ length: 20 }, (_, at) => `endpoint ${at}`);
    let [failures, successes] = [0, 0];
    for (let second = 0; second < 120; second += 1) {
      machine.call({}, 'usage');
      successes += 1;
      for (const job of down) {
        machine.pass(60);
        if (!('permits' in machine.ask(job))) continue;
        machine.answer({ status: 503 }, job);
        failures += 1;
      }
    }
    const again = failures - down.length;
    expect(again).toBeGreaterThan(10);
    const minutes = (machine.now - began) / 60_000;
    expect(again).toBeLessThanOrEqual(0.1 * (successes + failures) + minutes + 1);
  });

  it('all of them are soon asked again where all had failed and are well now', () => {
    const machine = drive();
    const jobs = ['ai-signals', 'news', 'smart-wallets', 'usage'];
    for (let failures = 0; failures < 12; failures += 1)
      machine.call({ status: 503 }, jobs[failures % jobs.length]);
    machine.pass(60_000);
    const began = machine.now;
    for (const job of jobs) machine.call({}, job);
    expect(machine.now - began).toBeLessThanOrEqual(jobs.length * 61_000);
  });

  it('a call without an answer counts as made, and the endpoint is left alone', () => {
    const machine = drive();
    machine.call({ limit: 100, remaining: 50 });
    machine.pass(5_000);
    machine.ask();
    machine.on({ type: 'lost', owner: 'me', job: 'news', roll: 0 });
    expect(machine.shown.quota.remaining).toBe(49);
    expect(machine.ask()).toMatchObject({ wait: { reason: 'unavailable' } });
  });
});

describe('the number at once', () => {
  const allowed = (machine: ReturnType<typeof drive>) => allowedInFlight(machine.state.concurrency);

  it('is one more than several calls in a row have proven, so that few are refused when a first burst is used up', () => {
    const machine = drive();
    expect(allowed(machine)).toBe(2);
    for (let call = 0; call < 5; call += 1) machine.call({ inFlight: 2 });
    expect(allowed(machine)).toBe(2);
    machine.call({ inFlight: 2 });
    expect(allowed(machine)).toBe(3);
    machine.call({ inFlight: 3 });
    expect(allowed(machine)).toBe(3);
  });

  it('that was refused is not asked for again for a hundred calls', () => {
    const machine = drive();
    machine.call({ inFlight: 2 });
    machine.call({ status: 429, inFlight: 2 });
    for (let call = 0; call < 99; call += 1) machine.call();
    expect(allowed(machine)).toBe(1);
    for (let call = 0; call < 3; call += 1) machine.call();
    expect(allowed(machine)).toBe(2);
    machine.call({ status: 429, inFlight: 2 });
    for (let call = 0; call < 290; call += 1) machine.call();
    expect(allowed(machine), 'nor, after another refusal, for three times as many').toBe(1);
    for (let call = 0; call < 20; call += 1) machine.call();
    expect(allowed(machine)).toBe(2);
  });
});

describe('with several processes', () => {
  it('who waits for a place asks again after about as long as a response takes', () => {
    const machine = drive();
    machine.call({ latencyMs: 50 });
    const waits = () => {
      for (const owner of ['one', 'two']) {
        machine.pass(1_000);
        expect(machine.ask('news', owner)).toHaveProperty('permits');
      }
      const decision = machine.ask('news', 'three');
      return 'wait' in decision && [decision.wait.reason, decision.wait.until - machine.now];
    };
    expect(waits()).toEqual(['concurrency', 50]);
    machine.answer({ latencyMs: 150 }, 'news', 'one');
    machine.answer({ latencyMs: 60 }, 'news', 'two');
    expect(waits()).toEqual(['concurrency', 60]);
  });

  it.each([
    [1, 2, 2, 0],
    [2, 1, 2, 0],
    [2, 2, 1, 0],
    [2, 2, 2, 1],
  ])(
    'where another holds permits for %i calls, had %i in flight, and %i when the call was sent: it proves three at once %i times',
    (permits, inFlight, othersInFlight, streak) => {
      const state = initialState();
      const machine = drive({ ...state, concurrency: { ...state.concurrency, proven: 2 } });
      machine.on({ type: 'holds', owner: 'another', permits, maxInFlight: 2, inFlight });
      machine.answer({ othersInFlight });
      expect(machine.state.concurrency.streak).toBe(streak);
    },
  );

  it('what a crashed process had in hand counts as spent', () => {
    const machine = drive();
    machine.call({ limit: 1_000, remaining: 500 });
    for (let call = 1; call < 60; call += 1) machine.call({ limit: 1_000, remaining: 500 - call });
    machine.pass(1_000);
    const decision = machine.ask('news', 'crashing', 10);
    const level = machine.shown.quota.remaining ?? 0;
    machine.on({ type: 'start', owner: 'crashing', again: false });
    expect('permits' in decision && decision.permits).toBeGreaterThan(1);
    expect(machine.shown.quota.remaining).toBe(level - ('permits' in decision ? decision.permits : 0));
  });

  it('a process not heard of for minutes does not hold up the others', () => {
    const machine = drive();
    machine.ask('news', 'dead', 1);
    machine.call({ status: 429 }, 'usage');
    machine.pass(130_000);
    expect(machine.ask('usage')).toMatchObject({ permits: 1 });
  });

  it('permits given back cost nothing', () => {
    const machine = drive();
    for (let call = 0; call < 60; call += 1) machine.call();
    machine.pass(1_000);
    for (let time = 0; time < 20; time += 1) {
      const decision = machine.ask('news', 'me', 10);
      expect('permits' in decision && decision.permits).toBeGreaterThan(1);
      machine.on({ type: 'release', owner: 'me', permits: 'permits' in decision ? decision.permits : 0 });
    }
  });
});

describe('the kept state', () => {
  it.each([
    ['absent', undefined],
    ['null', null],
    ['text', 'state'],
    ['of another version', { ...initialState(), version: 3 }],
    ['without a part', { ...initialState(), rate: undefined }],
    ['with a part of the wrong kind', { ...initialState(), quota: [] }],
  ])('is begun anew when it is %s', (_, kept) => {
    expect(readState(kept)).toEqual(initialState());
  });

  it.each([
    ['nothing', undefined, false],
    ['null', null, false],
    ['a text', '99', false],
    ['one without a version', {}, false],
    ['one of this release', initialState(), false],
    ['one of a newer release', { version: initialState().version + 1 }, true],
  ])('%s is taken for that of a newer release as it should', (_, kept, newer) => {
    expect(isNewer(kept)).toBe(newer);
  });

  it.each([200, 401, 403, 429, 503, null])(
    'counts a call that it does not know of, as when it was lost meanwhile: one that ends with %s',
    (status) => {
      const machine = drive();
      if (status === null) machine.on({ type: 'lost', owner: 'me', job: 'news', roll: 0.5 });
      else machine.answer({ status });
      expect(machine.state.quota.responses).toBe(1);
    },
  );

  it('knows no more of the quota when the clock is set back', () => {
    const machine = drive();
    machine.call();
    const early = drive(machine.state, T0 - DAY);
    early.call();
    expect(early.shown.quota.asOf).toBeNull();
  });

  it('waits no longer than was meant when the clock is set back', () => {
    const machine = drive();
    machine.call({ status: 429, retryAfterMs: 60_000 });
    const early = drive(machine.state, T0 - DAY);
    const waited = early.call();
    expect(waited).toBeGreaterThanOrEqual(60_000);
    expect(waited).toBeLessThan(70_000);
  });
});
