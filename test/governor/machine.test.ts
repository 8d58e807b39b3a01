/** What is learnt where nothing is set: docs/dev/governor.md draws it. */

import { describe, expect, it } from 'vitest';
import { initialState, type State } from '../../src/governor/state.ts';
import { DAY, drive, HOUR, MINUTE, SECOND, T0, unset } from './bench.ts';

type Machine = ReturnType<typeof drive>;

/** Makes so many calls in a pool of `limit` calls that is whole again every `periodMs`, as its header tells. */
function liveIn(machine: Machine, { limit, periodMs }: { limit: number; periodMs: number }) {
  let [used, window] = [0, -1];
  return (calls: number): number => {
    let refused = 0;
    for (let call = 0; call < calls; call += 1) {
      let decision = machine.ask();
      for (; !('id' in decision); decision = machine.ask()) {
        if (!('reason' in decision)) throw new Error(JSON.stringify(decision));
        machine.pass(Math.max(1, decision.until - machine.now));
      }
      const at = Math.floor(machine.now / periodMs);
      if (at !== window) [used, window] = [0, at];
      const isAccepted = used < limit;
      used += isAccepted ? 1 : 0;
      refused += isAccepted ? 0 : 1;
      machine.pass(50);
      machine.answer(decision.id, isAccepted ? { limit, remaining: limit - used } : { status: 429 });
    }
    return refused;
  };
}

describe('a request', () => {
  it.each<[string, (machine: Machine) => void, object]>([
    [
      'waits while the key is refused',
      (machine) => void machine.call({ status: 401 }, 'usage'),
      { refused: 'key' },
    ],
    [
      'waits while the scope is refused',
      (machine) => void machine.call({ status: 403 }),
      { refused: 'scope' },
    ],
    [
      'waits while its endpoint fails',
      (machine) => void machine.call({ status: 503 }),
      { reason: 'unavailable' },
    ],
    [
      'waits while something blocks it',
      (machine) => void machine.call({ status: 403, isBlocked: true }),
      { reason: 'blocked' },
    ],
    ['waits after a 429', (machine) => void machine.call({ status: 429 }, 'usage'), { reason: 'rate' }],
    [
      'waits as long as told',
      (machine) => void machine.call({ status: 429, retryAfterMs: HOUR }),
      { reason: 'retry_after' },
    ],
    [
      'waits at the reserve',
      (machine) => void machine.call({ limit: 100, remaining: 3 }),
      { reason: 'reserve' },
    ],
    ['waits at zero', (machine) => void machine.call({ limit: 100, remaining: 0 }), { reason: 'quota' }],
    [
      'waits for a place in flight',
      (machine) => [machine.send(), machine.pass(200), machine.send(), machine.pass(200)],
      { reason: 'concurrency' },
    ],
    ['waits for its slot', (machine) => void machine.send(), { reason: 'rate' }],
  ])('%s', (_, prepare, expected) => {
    const machine = drive();
    prepare(machine);
    expect(machine.ask()).toMatchObject(expected);
  });

  it('of another endpoint goes where the reason is its own', () => {
    for (const outcome of [
      { status: 403 },
      { status: 503 },
      { status: null },
      { status: 403, isBlocked: true },
    ]) {
      const machine = drive();
      machine.call(outcome);
      expect(machine.call({}, 'usage')).toBeLessThanOrEqual(100);
    }
  });

  it('that we stopped ourselves blames nobody', () => {
    const machine = drive();
    machine.call({ status: null, stopped: true });
    expect(machine.call()).toBeLessThanOrEqual(100);
  });
});

describe('a 429', () => {
  it('lets one request alone see whether it is over, then later and later', () => {
    const machine = drive();
    machine.call({ status: 429 });
    const waits = [0, 0, 0].map(() => Math.round(machine.call({ status: 429 }) / 1_000));
    expect(waits).toEqual([1, 9, 54]);
    machine.pass(5 * MINUTE);
    const probe = machine.send();
    expect(machine.ask('usage')).toMatchObject({ until: expect.any(Number) });
    machine.answer(probe);
    expect(machine.state.pause).toBeNull();
  });

  it('is no longer for a stop of hours between two of them', () => {
    const machine = drive();
    machine.call({ limit: 1_000, remaining: 500 });
    machine.call({ status: 429 });
    machine.pass(8 * HOUR);
    machine.call({ status: 429 });
    expect(machine.call()).toBeLessThan(15 * SECOND);
  });

  it('is sat out in full where the API says how long, a day at most; nonsense is ignored', () => {
    for (const [told, least, most] of [
      [30 * SECOND, 30 * SECOND, 34 * SECOND],
      [40 * DAY, DAY, DAY + 5 * SECOND],
      [-5, 1_000, 1_200],
      [Number.NaN, 1_000, 1_200],
      [Number.POSITIVE_INFINITY, 1_000, 1_200],
    ] as const) {
      const machine = drive();
      machine.call({ status: 429, retryAfterMs: told });
      const waited = machine.call();
      expect(waited).toBeGreaterThanOrEqual(least);
      expect(waited).toBeLessThanOrEqual(most);
    }
  });

  it('of a request from before the pause lengthens it by its Retry-After, and teaches nothing', () => {
    const machine = drive();
    const first = machine.send();
    machine.pass(200);
    const second = machine.send('usage');
    machine.answer(first, { status: 429 });
    machine.answer(second, { status: 429, retryAfterMs: MINUTE });
    expect(machine.ask()).toMatchObject({ until: machine.now + MINUTE });
    expect(machine.state.pause?.refusals).toBe(1);
  });

  it('teaches nothing by an accepted request from before it', () => {
    const machine = drive();
    const first = machine.send('ai-signals');
    machine.pass(200);
    machine.answer(machine.send(), { status: 429 });
    machine.answer(first, { limit: 100, remaining: 90 });
    expect(machine.state.pause).not.toBeNull();
    expect(machine.shown.quota.limit).toBeNull();
  });

  it('for too many in flight lowers their number by one; several together do not', () => {
    const together = (refusals: number) => {
      const machine = drive();
      const ids = [machine.send()];
      machine.pass(200);
      ids.push(machine.send('usage'));
      for (const id of ids.slice(0, refusals)) machine.answer(id, { status: 429 });
      for (const id of ids.slice(refusals)) machine.answer(id);
      machine.pass(2_000);
      machine.call();
      return machine.state.concurrency.allowed;
    };
    expect([together(1), together(2)]).toEqual([1, 2]);
  });

  it('that is the first response of all measures no rate: one call a second is tried then', () => {
    const machine = drive();
    machine.answer(machine.send(), { status: 429, retryAfterMs: 2 * SECOND });
    machine.pass(2 * SECOND + 1_000);
    for (let calls = 0; calls < 5; calls += 1) machine.call();
    expect(machine.shown.rate).toMatchObject({ perSecond: 1, source: 'learnt' });
  });

  it('for the rate makes a measured one, and one that is 15 % faster is tried after a long calm', () => {
    const machine = drive();
    for (let call = 0; call < 40; call += 1) machine.call();
    machine.call({ status: 429 });
    machine.call();
    const measured = machine.state.rate.perSecond;
    expect(measured).toBeGreaterThan(1);
    expect(measured).toBeLessThan(15);
    let calls = 0;
    while (machine.state.rate.perSecond === measured && calls < 2_000) {
      machine.call();
      calls += 1;
    }
    expect(calls).toBeGreaterThanOrEqual(400);
    expect(machine.state.rate.perSecond).toBeCloseTo(1.15 * measured, 3);
    machine.call({ status: 429 });
    machine.call();
    expect(machine.state.rate).toMatchObject({ perSecond: measured, patience: 1_200 });
  });
});

describe('a refused key or scope', () => {
  it.each([
    [401, [HOUR, HOUR, HOUR]],
    [403, [5 * MINUTE, DAY, DAY]],
  ])('(%i) is tried again by one call at a time', (status, waits) => {
    const machine = drive();
    for (const ms of waits) {
      const id = machine.send();
      machine.answer(id, { status });
      machine.pass(ms - 1);
      expect(machine.ask()).toHaveProperty('refused');
      machine.pass(1);
    }
    expect(machine.call()).toBe(0);
    expect(machine.state.refused).toEqual({});
  });

  it('is tried at once where a person asks, or the key is another one', () => {
    for (const type of ['again', 'key'] as const) {
      const machine = drive();
      machine.call({ status: 401 });
      machine.pass(SECOND);
      machine.on({ type });
      machine.send();
    }
  });

  it('counts once where several were in flight', () => {
    const machine = drive();
    const ids = [machine.send()];
    machine.pass(200);
    ids.push(machine.send());
    for (const id of ids) machine.answer(id, { status: 403 });
    expect(machine.state.refused['news']?.times).toBe(1);
  });
});

it('a failing endpoint is left alone twice as long each time, a quarter of an hour or twice that at most, and Retry-After in full', () => {
  const machine = drive();
  machine.call({ status: 503 });
  const waits = Array.from({ length: 14 }, () => machine.call({ status: 503 }));
  for (const [at, waited] of waits.entries()) {
    expect(waited).toBeGreaterThanOrEqual(Math.min(15 * MINUTE, SECOND * 2 ** at));
    expect(waited).toBeLessThanOrEqual(30 * MINUTE);
  }
  machine.call({ status: 503, retryAfterMs: 2 * HOUR });
  machine.on({ type: 'again' });
  expect(machine.call(), 'even where a person asks').toBeGreaterThanOrEqual(2 * HOUR);
  expect(machine.state.outages).toEqual({});
});

describe('the quota', () => {
  it('is learnt from its header: the period once two resets show it, and then it is met without a refusal', () => {
    const machine = drive();
    const make = liveIn(machine, { limit: 100, periodMs: 5 * MINUTE });
    make(450);
    expect(machine.shown.quota.resets).toMatchObject({ known: 'seen', everyMs: 5 * MINUTE });
    expect(machine.shown.quota.resets.says).toMatch(/^resets about every 5m \(seen (twice|\d times)\)$/);
    expect(make(1_000)).toBe(0);
  });

  it('says no period before it is known', () => {
    const machine = drive();
    liveIn(machine, { limit: 100, periodMs: HOUR })(150);
    expect(machine.shown.quota.resets).toEqual({
      ...{ known: 'no', at: null, everyMs: null },
      says: 'when it resets is not known yet',
    });
  });

  it('is believed of no response that was asked for before the reset, and overtaken by one that shows it', () => {
    const machine = drive();
    liveIn(machine, { limit: 100, periodMs: 5 * MINUTE })(450);
    const before = machine.shown.quota.resets;
    machine.pass(5 * MINUTE - ((machine.now - T0) % (5 * MINUTE)) - 200);
    const slow = machine.send('ai-signals');
    machine.pass(300);
    machine.answer(machine.send('ai-signals'), { limit: 100, remaining: 99 });
    machine.answer(slow, { limit: 100, remaining: 40 });
    expect(machine.shown.quota.remaining).toBe(98);
    machine.call({ limit: 100, remaining: 98 }, 'ai-signals');
    machine.call({ limit: 100, remaining: 97 }, 'ai-signals');
    expect(machine.shown.quota.resets).toMatchObject({ known: 'seen', everyMs: before.everyMs });
  });

  it('that has grown is seen within a day, though the schedule of probes expects it later', () => {
    const machine = drive();
    machine.call({ limit: 1_000, remaining: 0 });
    const began = machine.now;
    machine.call({ limit: 2_000, remaining: 999 });
    expect(machine.now - began).toBeLessThanOrEqual(DAY + HOUR);
  });

  it('is looked at once where a person asks, and not twice an hour', () => {
    const machine = drive();
    machine.call({ limit: 100, remaining: 0 });
    machine.pass(HOUR);
    for (let ask = machine.ask(); 'id' in ask; ask = machine.ask()) machine.answer(ask.id, { status: 429 });
    machine.on({ type: 'again' });
    expect(machine.ask()).not.toHaveProperty('id');
    machine.pass(HOUR - 10 * MINUTE);
  });

  it('of an endpoint that names another limit is a pool of its own', () => {
    const machine = drive();
    machine.call({ limit: 100, remaining: 0 }, 'ai-signals');
    const apart = drive(unset, {
      ...machine.state,
      pools: {
        ...machine.state.pools,
        usage: { ...(machine.state.pools[''] as State['pools'][string]), limit: 9, left: 9 },
      },
      poolOf: { 'ai-signals': '', usage: 'usage' },
    });
    apart.pass(1_000);
    expect(apart.ask('news')).toMatchObject({ reason: 'quota' });
    expect(apart.ask('usage')).toHaveProperty('id');
  });

  it('knows an endpoint whose calls were seen not to lower it', () => {
    const machine = drive();
    let remaining = 50;
    for (let round = 0; round < 4; round += 1) {
      remaining -= 1;
      machine.call({ limit: 100, remaining }, 'ai-signals');
      machine.call({}, 'usage');
      machine.call({}, 'usage');
    }
    expect(machine.shown.quota.apart).toEqual(['usage']);
    machine.call({ limit: 100, remaining: 0 }, 'ai-signals');
    machine.pass(1_000);
    expect(machine.ask('news')).toMatchObject({ reason: 'quota' });
    expect(machine.ask('usage')).toHaveProperty('id');
  });
});

describe('a kept state', () => {
  it('that is damaged or of another version is begun anew', async () => {
    const { readState } = await import('../../src/governor/state.ts');
    for (const kept of [undefined, null, 'text', [], {}, { version: 5 }])
      expect(readState(kept, T0)).toEqual(initialState(T0));
  });

  it('loses no Retry-After to a clock that goes back a little, and waits for none that is now far ahead', () => {
    const machine = drive();
    machine.call({ status: 429, retryAfterMs: HOUR });
    const before = machine.state.pause?.until;
    machine.pass(-9 * SECOND);
    expect(machine.ask()).toMatchObject({ until: before });
    machine.pass(-3 * DAY);
    expect(machine.call()).toBeLessThanOrEqual(1_000);
  });
});
