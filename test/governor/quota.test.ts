import { describe, expect, it } from 'vitest';
import { initialState } from '../../src/governor/state.ts';
import { drive, T0 } from './drive.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('the quota', () => {
  it('is never used up: the last calls are kept to see when more come', () => {
    const machine = drive();
    for (let left = 99; left >= 8; left -= 1) machine.call({ limit: 100, remaining: left });
    expect(machine.ask()).toMatchObject({ wait: { reason: 'reserve' } });
  });

  it('counts calls under way as spent already', () => {
    const machine = drive();
    for (let left = 99; left >= 9; left -= 1) machine.call({ limit: 100, remaining: left });
    machine.pass(1_000);
    expect(machine.ask('news', 'one')).toMatchObject({ permits: 1 });
    machine.pass(1_000);
    const waiting = machine.ask('usage', 'two');
    expect(waiting).toMatchObject({ wait: { reason: 'reserve' } });
    const answered = drive(
      { ...machine.state, leases: {}, quota: { ...machine.state.quota, level: 8 } },
      machine.now,
    );
    expect(waiting, 'until one is worth a try, as if it were answered').toEqual(answered.ask('usage', 'two'));
  });

  it('at zero nothing is called until a quota probe is worth a refusal', () => {
    const machine = drive();
    machine.call({ limit: 100, remaining: 1 });
    machine.call({ limit: 100, remaining: 0 });
    const decision = machine.ask();
    expect(decision).toMatchObject({ wait: { reason: 'quota' } });
    expect('wait' in decision && decision.wait.until).toBeGreaterThan(machine.now);
  });

  it('that is used up shortly before an hour is over is looked at soon after it, not hours later', () => {
    const machine = drive();
    machine.call({ limit: 22, remaining: 21 });
    machine.pass(T0 + 55 * MINUTE - machine.now);
    machine.call({ limit: 22, remaining: 0 });
    const decision = machine.ask();
    const until = 'wait' in decision ? decision.wait.until : 0;
    expect(until).toBeGreaterThan(T0 + 60 * MINUTE);
    expect(until).toBeLessThan(T0 + 61 * MINUTE);
  });

  it('that one endpoint showed to have reset did not reset again where the next one tells of it', () => {
    const machine = drive();
    machine.call({ limit: 32, remaining: 10 }, 'ai-signals');
    machine.call({ limit: 32, remaining: 0 }, 'ai-signals');
    machine.pass(HOUR);
    for (let call = 0; call < 5; call += 1) machine.call({}, 'news');
    machine.pass(2 * MINUTE);
    machine.call({ limit: 32, remaining: 26 }, 'ai-signals');
    expect(machine.state.quota.window).toMatchObject({ periods: 0, most: null });
    expect(machine.state.quota.members, 'what was left then nobody told').toEqual({});
  });

  it.each([
    [0, null],
    [1, 99],
    [7, 99],
    [8, null],
    [9, 99],
  ])('that was counted, and met %i times since: where a call goes again, %j more may', (confirmed, level) => {
    const state = initialState();
    const seen = { source: 'count' as const, limit: 100, level: 0, confirmed, risenAt: T0, asOfAt: T0 };
    const machine = drive({ ...state, quota: { ...state.quota, ...seen } });
    machine.call();
    expect(machine.state.quota.level).toBe(level);
  });

  it.each([
    [980, 0],
    [981, 1],
  ])('that was counted as a thousand is met again at %i, which confirms it %i times', (spent, confirmed) => {
    const state = initialState();
    const quota = { ...state.quota, source: 'count' as const, limit: 1_000, level: 1, spent };
    const machine = drive({ ...state, quota });
    machine.call({ status: 429 });
    expect(machine.state.quota).toMatchObject({ limit: spent, confirmed });
  });

  it('one quota probe serves all who wait: they go at once when it found more', () => {
    const machine = drive();
    for (let left = 99; left >= 8; left -= 1) machine.call({ limit: 100, remaining: left });
    for (let decision = machine.ask('news'); !('permits' in decision); decision = machine.ask('news'))
      machine.pass('wait' in decision ? decision.wait.until - machine.now : 1);
    machine.pass(500);
    const meanwhile = machine.ask('usage');
    expect(meanwhile).toMatchObject({ wait: { reason: 'reserve' } });
    expect('wait' in meanwhile && meanwhile.wait.until - machine.now).toBeLessThan(1_000);
    machine.pass(50);
    machine.answer({ limit: 100, remaining: 99 }, 'news');
    machine.pass(250);
    expect(machine.ask('usage')).toMatchObject({ permits: expect.any(Number) });
  });

  it('is probed by a job whose answers tell, rather than by one whose answers do not', () => {
    const machine = drive();
    for (let left = 99; left >= 8; left -= 1) machine.call({ limit: 100, remaining: left }, 'ai-signals');
    machine.pass(500);
    const until = (job: string) => {
      const decision = machine.ask(job);
      return 'wait' in decision ? decision.wait.until : 0;
    };
    machine.ask('ai-signals');
    expect(until('news')).toBeGreaterThan(until('ai-signals') + 1_000);
    machine.pass(until('ai-signals') - machine.now);
    expect(machine.ask('news')).toMatchObject({ wait: { reason: 'reserve' } });
    expect(machine.ask('ai-signals')).toMatchObject({ permits: 1 });
  });

  it('of a known period, a reset that was seen late makes nobody expect the next one later', () => {
    const machine = drive();
    const at = (second: number, remaining: number) => {
      machine.pass(T0 + second * 1_000 - machine.now);
      machine.call({ limit: 100, remaining });
    };
    for (const minute of [1, 2, 3]) {
      at(minute * 60 - 1, 50);
      at(minute * 60, 99);
    }
    at(3 * 60 + 5, 50);
    at(5 * 60 - 25, 99);
    const { refill } = machine.shown.quota;
    expect(refill).toMatchObject({ periodMs: MINUTE, confidence: 'sure' });
    expect(refill.kind === 'window' && refill.nextBy).toBeLessThanOrEqual(T0 + 5 * MINUTE + 1_000);
  });

  it('tells a slow refill from a reset', () => {
    const machine = drive();
    let level = 60;
    let filledAt = machine.now;
    const paces: number[] = [];
    for (let call = 0; call < 200; call += 1) {
      level = Math.min(60, level + ((machine.now - filledAt) * 60) / HOUR);
      filledAt = machine.now;
      level -= 1;
      machine.call({ limit: 60, remaining: Math.max(0, Math.floor(level)) });
      const { refill } = machine.shown.quota;
      paces.push(refill.kind === 'trickle' ? refill.perHour : 0);
    }
    const latest = paces.slice(-100).toSorted((a, b) => a - b);
    expect(latest[50]).toBeGreaterThan(50);
    expect(latest[50]).toBeLessThan(70);
    expect(machine.shown.quota.refill.confidence).not.toBe('sure');
    expect(machine.shown.quota.refill.kind).toBe('trickle');
    machine.pass(DAY);
    expect(machine.shown.quota.remaining, 'it is full at last').toBe(60);
  });

  it.each([
    [6, 6_000, 3_000, 'trickle'],
    [6, 6_000, 3_001, 'unknown'],
    [5, 6_000, 3_000, 'unknown'],
    [6, 1_000, 500, 'trickle'],
    [6, 999, 499, 'unknown'],
  ])(
    'to which %i calls came back in %i ms, the last of them %i ms ago: its refill is as it seems (%s)',
    (calls, ms, ago, kind) => {
      const state = initialState();
      const seen = { source: 'header' as const, limit: 100, level: 50, asOfAt: T0, risenAt: T0 - ago };
      const quota = { ...state.quota, ...seen, unexplained: { sinceAt: T0 - ms, calls } };
      expect(drive({ ...state, quota }).shown.quota.refill.kind).toBe(kind);
    },
  );

  it('notices that others use the same account', () => {
    const machine = drive();
    for (let call = 0, left = 900; call < 30; call += 1, left -= 3) {
      machine.call({ limit: 1_000, remaining: left });
      machine.pass(10_000);
    }
    const before = machine.shown.quota;
    machine.pass(MINUTE);
    expect(machine.shown.quota.remaining).toBeLessThan((before.remaining ?? 0) - 8);
    expect(before.othersPerHour).toBeGreaterThan(500);
  });

  it('counts down by endpoints that do not tell, and is set right by one that does', () => {
    const machine = drive();
    machine.call({ limit: 100, remaining: 60 }, 'ai-signals');
    for (let call = 0; call < 5; call += 1) machine.call({}, 'news');
    expect(machine.shown.quota.remaining).toBe(55);
    machine.call({ limit: 100, remaining: 54 }, 'ai-signals');
    expect(machine.shown.quota.remaining).toBe(54);
  });

  it.each([
    [0, 2, false],
    [0, 3, true],
    [1, 3, false],
    [1, 4, true],
  ])(
    'on which the calls of an endpoint showed %i times and %i times not: apart is %s',
    (shared, apart, isApart) => {
      const state = initialState();
      const quota = { ...state.quota, members: { usage: { shared, apart } } };
      expect(drive({ ...state, quota }).shown.quota.apart).toEqual(isApart ? ['usage'] : []);
    },
  );

  it('learns that an endpoint draws on another pool', () => {
    const machine = drive();
    for (let left = 90, round = 0; round < 4; round += 1, left -= 1) {
      machine.call({ limit: 100, remaining: left }, 'ai-signals');
      for (let call = 0; call < 3; call += 1) machine.call({}, 'usage');
    }
    machine.call({ limit: 100, remaining: 86 }, 'ai-signals');
    machine.call({}, 'usage');
    expect(machine.shown.quota.remaining).toBe(86);
  });

  it.each([1, 2])(
    'that was emptied only by %i requests which the API may not have counted did not reset where as many go',
    (lost) => {
      const machine = drive();
      const send = (job: string) => {
        for (let asked = machine.ask(job); !('permits' in asked); asked = machine.ask(job))
          machine.pass('wait' in asked ? Math.max(1, asked.wait.until - machine.now) : 1);
        machine.pass(50);
      };
      machine.call({ limit: 100, remaining: lost }, 'ai-signals');
      for (let call = 0; call < lost; call += 1) {
        send('news');
        machine.on({ type: 'lost', owner: 'me', job: 'news', roll: 0.5, stopped: true });
      }
      expect(machine.shown.quota.remaining).toBe(0);
      for (let call = 0; call < lost; call += 1) {
        send('usage');
        machine.answer({}, 'usage');
      }
      expect(machine.state.quota.window.last, 'so many were left').toBeNull();
      send('usage');
      machine.answer({}, 'usage');
      expect(machine.state.quota.window.last, 'none was').not.toBeNull();
    },
  );

  it('learns nothing of the pool of an endpoint across a request that may have been counted', () => {
    const machine = drive();
    for (let left = 90, round = 0; round < 4; round += 1, left -= 2) {
      machine.call({ limit: 100, remaining: left }, 'ai-signals');
      machine.call({}, 'usage');
      machine.pass(1_000);
      machine.ask('ai-signals');
      machine.on({ type: 'lost', owner: 'me', job: 'ai-signals', roll: 0.5, stopped: true });
    }
    expect(machine.state.quota.members).toEqual({});
  });

  it('learns nothing of the pool of an endpoint whose call was under way as the header was told', () => {
    const machine = drive();
    for (let left = 90, round = 0; round < 4; round += 1, left -= 2) {
      machine.pass(1_000);
      machine.ask('ai-signals');
      machine.pass(1_000);
      expect(machine.ask('usage', 'another')).toHaveProperty('permits');
      machine.answer({ limit: 100, remaining: left }, 'ai-signals');
      machine.answer({}, 'usage', 'another');
      machine.call({ limit: 100, remaining: left - 1 }, 'ai-signals');
    }
    expect(machine.state.quota.members).toEqual({});
  });

  it('learns nothing of the pool of an endpoint where the next header counts some of its calls', () => {
    const machine = drive();
    for (let left = 90, round = 0; round < 4; round += 1, left -= 2) {
      machine.call({ limit: 100, remaining: left }, 'ai-signals');
      for (let call = 0; call < 3; call += 1) machine.call({}, 'usage');
    }
    expect(machine.state.quota.members).toEqual({});
  });

  it('takes a pair of headers that contradict each other for none', () => {
    const machine = drive();
    machine.call({ limit: 100, remaining: 500 });
    machine.call({ limit: 100, remaining: -1 });
    expect(machine.shown.quota.source).toBeNull();
  });

  it('of a month is watched every few days without a refusal once its period is known', () => {
    const machine = drive();
    const month = pool(machine, 400, 30 * DAY);
    for (let call = 0; call < 1_000; call += 1) month.call();
    expect(machine.shown.quota.refill.confidence).toBe('sure');
    month.refused = 0;
    for (let call = 0; call < 1_200; call += 1) month.call();
    expect(month.refused).toBe(0);
  });

  it('that no header tells of is learnt from what Retry-After said, and then not exceeded', () => {
    const machine = drive();
    const hour = pool(machine, 60, HOUR, { tells: 'retry-after' });
    for (let call = 0; call < 200; call += 1) hour.call();
    expect(machine.shown.quota.refill.confidence).toBe('sure');
    hour.refused = 0;
    for (let call = 0; call < 180; call += 1) hour.call();
    expect(hour.refused).toBe(0);
  });

  it.each([
    [89, 20, 'rate'],
    [90, 20, 'quota'],
    [89, 2, 'rate'],
    [89, 1, 'quota'],
  ])(
    'that was counted as a hundred: a refusal after %i, where %i are left, is for the %s',
    (spent, level, reason) => {
      const state = initialState();
      const quota = { ...state.quota, source: 'count' as const, limit: 100, level, spent };
      const machine = drive({ ...state, quota });
      machine.call({ status: 429 });
      expect(machine.shown.waits[0]?.reason).toBe(reason);
    },
  );

  it.each([
    [9, 'rate'],
    [8, 'quota'],
  ])('of which eight are kept: a refusal where %i are left is for the %s', (remaining, reason) => {
    const machine = drive();
    machine.call({ limit: 100, remaining });
    machine.call({ status: 429 });
    expect(machine.shown.waits[0]?.reason).toBe(reason);
  });

  it.each([
    ['half of the only usual one', [1_000, 16_000, 61_000, 76_000], 'unknown'],
    ['less than half of it', [1_000, 16_000, 61_000, 75_999], 'window'],
    ['where none fits, a twentieth', [1_000, 151_000, 5_851_000, 6_001_000], 'unknown'],
    ['less than a twentieth', [1_000, 151_000, 5_851_000, 6_000_999], 'window'],
    ['two usual ones', [1_000, 154_000, 1_051_000, 1_204_000], 'unknown'],
  ])(
    'of which two resets leave the period open by %s: it is taken for known as it should',
    (_, times, kind) => {
      const machine = drive();
      for (const [at, remaining] of [50, 99, 60, 99].entries()) {
        machine.pass(T0 + (times[at] ?? 0) - 50 - machine.now);
        machine.call({ limit: 100, remaining });
      }
      expect(machine.shown.quota.refill.kind).toBe(kind);
    },
  );

  describe('that is known to reset each minute', () => {
    const known = (limit = 100, watchedFor = 1) => {
      const machine = drive();
      const at = (second: number, remaining: number) => {
        machine.pass(T0 + second * 1_000 - 50 - machine.now);
        machine.call({ limit, remaining });
      };
      for (const minute of [1, 2, 3]) {
        at(minute * 60 - watchedFor, limit / 2);
        at(minute * 60, limit - 1);
      }
      return { machine, at };
    };

    it('is known to have reset twice where the full pool did not show the first time', () => {
      const { machine, at } = known();
      at(250, 99);
      at(251, 40);
      at(350, 99);
      expect(machine.state.quota.window).toMatchObject({ periods: 4, least: 59_500, most: 60_500 });
    });

    it.each([
      [100, 6, 1],
      [100, 7, 4],
      [500, 6, 3],
      [2_000, 6, 4],
    ])('and has %i calls, and when it does to %i s: %i are kept', (limit, watchedFor, kept) => {
      expect(known(limit, watchedFor).machine.shown.quota.reserve).toBe(kept);
    });

    it('may reset somewhat later than a minute after the last time', () => {
      const { machine, at } = known();
      at(240.2, 50);
      at(241.2, 99);
      const last = { afterAt: T0 + 240_200, beforeAt: T0 + 241_200 };
      expect(machine.state.quota.window).toMatchObject({ last, periods: 3, least: 60_200 });
    });
  });

  it('of which two resets were seen has no longer period than from one to the other, however many passed unseen', () => {
    const machine = drive();
    const report = (minute: number, remaining: number) => {
      machine.pass(minute * MINUTE - (machine.now % (60 * MINUTE)));
      machine.call({ limit: 100, remaining });
    };
    for (const [minute, remaining] of [
      [1, 50],
      [10, 99],
      [11, 60],
      [20, 99],
    ] as const)
      report(minute, remaining);
    expect(machine.state.quota.window.last).not.toBeNull();
    expect(machine.state.quota.window.most).toBeLessThanOrEqual(20 * MINUTE);
  });

  it('of a known period that begins with its first call is probed the less often the later it is', () => {
    const machine = drive();
    const limit = 100;
    const at = (second: number, remaining: number) => {
      machine.pass(T0 + second * 1_000 - 50 - machine.now);
      machine.call({ limit, remaining });
    };
    for (const minute of [1, 2, 3]) {
      at(minute * 60 - 1, 50);
      at(minute * 60, limit - 1);
    }
    at(4 * 60 - 1, 1);
    const due = T0 + 4 * MINUTE;
    for (const lateMs of [500, 3_000, 40_000]) {
      const late = drive(machine.state, machine.now);
      /** Of each probe from then on, how late it was. */
      const probes: number[] = [];
      for (let isFound = false; !isFound; ) {
        for (let asked = late.ask(); !('permits' in asked); asked = late.ask())
          late.pass('wait' in asked ? Math.max(1, asked.wait.until - late.now) : 1);
        const at = late.now - due;
        isFound = at >= lateMs;
        if (at >= 0) probes.push(at);
        late.pass(50);
        late.answer({ limit, remaining: isFound ? limit - 1 : 1 });
      }
      expect(probes[0]).toBe(0);
      expect(probes.at(-1)).toBeLessThan(2 * lateMs + 1_500);
      // As long after the last response as that was late, and a second at least.
      for (const [index, next] of probes.slice(1, 7).entries()) {
        const answeredAt = (probes[index] ?? 0) + 50;
        expect(next).toBe(answeredAt + Math.max(1_000, answeredAt));
      }
    }
  });

  it('whose period changes is followed', () => {
    const machine = drive();
    const minute = pool(machine, 50, MINUTE);
    for (let call = 0; call < 400; call += 1) minute.call();
    minute.periodMs = 20_000;
    for (let call = 0; call < 400; call += 1) {
      minute.call();
      machine.pass(500);
    }
    const { refill } = machine.shown.quota;
    expect(refill.kind === 'window' && refill.periodMs / 20_000).toBeCloseTo(1, 1);
  });

  it('of which a few calls come back did not reset: in a sliding window those are our own quota probes', () => {
    const machine = drive();
    for (let left = 199; left > 12; left -= 1) machine.call({ limit: 200, remaining: left });
    machine.pass(HOUR);
    machine.call({ limit: 200, remaining: 15 });
    expect(machine.state.quota.window.last).toBeNull();
    machine.pass(HOUR);
    machine.call({ limit: 200, remaining: 199 });
    expect(machine.state.quota.window.last).not.toBeNull();
  });

  it.each([
    [200, 8, HOUR, false],
    [200, 9, HOUR, true],
    [200, 9, 3_000, true],
    [200, 9, 2_999, false],
    [2_000, 20, HOUR, false],
    [2_000, 21, HOUR, true],
  ])(
    'of %i, to which %i calls come back at once after %i ms, seems to have reset: %s',
    (limit, back, ms, isReset) => {
      const machine = drive();
      machine.call({ limit, remaining: 100 });
      machine.pass(ms - 50);
      machine.call({ limit, remaining: 99 + back });
      expect(machine.state.quota.window.last !== null).toBe(isReset);
    },
  );

  it.each([
    ['told', true],
    ['not told', false],
  ])(
    'that was little used for a week and then runs dry is probed within its hour, where it is %s',
    (_, told) => {
      const machine = drive();
      const hour = pool(machine, 1_000, HOUR, { tells: told ? 'headers' : 'nothing' });
      for (let call = 0; call < 7 * 24; call += 1) {
        hour.call();
        machine.pass(HOUR);
      }
      const begunAt = machine.now;
      for (let call = 0; call < 1_600; call += 1) hour.call();
      expect(machine.now - begunAt).toBeLessThan(4 * HOUR);
    },
  );

  it('is known after a restart', () => {
    const machine = drive();
    const endsAt = pool(machine, 50, MINUTE);
    for (let call = 0; call < 300; call += 1) endsAt.call();
    const again = drive(JSON.parse(JSON.stringify(machine.state)), machine.now);
    again.on({ type: 'start', owner: 'again', again: false });
    const after = pool(again, 50, MINUTE, { begin: endsAt.used });
    for (let call = 0; call < 200; call += 1) after.call();
    expect(after.refused).toBe(0);
  });
});

/** A pool that resets at every full period of the clock, and tells by headers what is left. */
function pool(
  machine: ReturnType<typeof drive>,
  limit: number,
  periodMs: number,
  { begin = 0, tells = 'headers' }: { begin?: number; tells?: 'headers' | 'retry-after' | 'nothing' } = {},
) {
  let used = begin;
  let window = Math.floor(machine.now / periodMs);
  return {
    periodMs,
    refused: 0,
    get used() {
      return used;
    },
    call() {
      // The answer is decided when the call goes, which is when it may.
      for (let decision = machine.ask(); !('permits' in decision); decision = machine.ask())
        machine.pass('wait' in decision ? Math.max(1, decision.wait.until - machine.now) : 1);
      if (Math.floor(machine.now / this.periodMs) !== window) {
        window = Math.floor(machine.now / this.periodMs);
        used = 0;
      }
      const left = this.periodMs - (machine.now % this.periodMs);
      machine.pass(50);
      if (used >= limit) {
        this.refused += 1;
        const retryAfterMs = Math.ceil(left / 1_000) * 1_000;
        machine.answer({ status: 429, ...(tells === 'retry-after' ? { retryAfterMs } : {}) });
        return;
      }
      used += 1;
      machine.answer(tells === 'headers' ? { limit, remaining: limit - used } : {});
    },
  };
}
