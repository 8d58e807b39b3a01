/** Limits that the user has set: no call is refused, over days, restarts, kills and beside another process. */

import { describe, expect, it } from 'vitest';
import { seededRandom, virtualClock } from '../../lab/simulate/clock.ts';
import { createLimits, type LimitOptions } from '../../model-api/limits.ts';
import type { AccountLimits } from '../../src/config/values.ts';
import type { Governor } from '../../src/governor.ts';
import { DAY, drive, HOUR, MINUTE, SECOND, setup, T0 } from './bench.ts';

const jobs = ['ai-signals', 'news', 'smart-wallets', 'meme-signals', 'usage'];
const CALLS = 200;
const daily = (kind: 'fixed' | 'sliding' | 'refill') => ({ limit: CALLS, periodMs: DAY, kind });
const set = (quota: AccountLimits['quota']): AccountLimits => ({
  quota,
  rate: { calls: 5, periodMs: SECOND, startMs: null },
  concurrency: 2,
});
const slides = { calls: CALLS, periodMs: DAY, startMs: null };
const atMidnight = { calls: CALLS, periodMs: DAY, startMs: 0 };

type World = {
  limits: AccountLimits;
  quota: NonNullable<LimitOptions['quota']>;
  tells?: boolean;
  /** Of the API's clock. */
  aheadMs?: number;
  /** Processes that share the folder; each lives so long, then is killed or ends. */
  processes: number;
  lifeMs?: number;
  days: number;
  seed: number;
};

/** Makes calls as fast as is allowed, in virtual time. */
async function live({ limits, quota, tells, aheadMs = 0, processes, lifeMs, days, seed }: World) {
  const clock = virtualClock(T0 + 5 * HOUR);
  const random = seededRandom(seed);
  const api = createLimits({ quota, rate: 5, concurrency: 2 });
  const dead = new Set<string>();
  const { open } = setup(
    { limits, longestWaitMs: Number.POSITIVE_INFINITY, isGone: (owner) => dead.has(owner) },
    clock,
  );
  const until = clock.now() + days * DAY;
  const seen = { accepted: 0, refused: [] as string[] };
  let born = 0;

  async function request(job: string, owner: string, complete: Awaited<ReturnType<Governor['acquire']>>) {
    const latencyMs = 100 * 2 ** (2 * random() - 1);
    await clock.sleep(latencyMs / 4);
    if (dead.has(owner)) return;
    const pass = api.enter(clock.now() + aheadMs);
    if ('by' in pass) {
      seen.refused.push(`${pass.by} at ${new Date(clock.now()).toISOString()}`);
      return complete({ status: 429, limit: null, remaining: null, retryAfterMs: null });
    }
    seen.accepted += 1;
    await clock.sleep(latencyMs / 2);
    // A connection of a dead process is closed.
    pass.leave();
    await clock.sleep(latencyMs / 4);
    if (dead.has(owner)) return;
    const told = tells && job === 'ai-signals' ? { limit: pass.limit, remaining: pass.remaining } : {};
    complete({ status: 200, limit: null, remaining: null, retryAfterMs: null, ...told });
  }

  /** Processes one after the other, each killed in the middle of its requests. */
  async function chain(): Promise<void> {
    while (clock.now() < until) {
      born += 1;
      const owner = `process ${born}`;
      const governor = open(owner);
      const stop = new AbortController();
      const endsAt = lifeMs ? clock.now() + lifeMs * (0.5 + random()) : until;
      const walks = jobs.map(async (job) => {
        while (clock.now() < Math.min(endsAt, until)) {
          const complete = await governor.acquire(job, stop.signal).catch(() => undefined);
          if (!complete) return;
          await request(job, owner, complete);
        }
      });
      clock.after(endsAt - clock.now(), () => {
        dead.add(owner);
        governor.close();
        stop.abort(new Error('killed'));
      });
      await Promise.all(walks);
      dead.add(owner);
    }
  }
  await Promise.all(Array.from({ length: processes }, chain));
  return seen;
}

describe('with all three limits set, and nobody else on the key, no call is refused', () => {
  it.each([
    ['a quota that begins anew at midnight', { limits: set(atMidnight), quota: daily('fixed') }, 0.999],
    ['a quota that slides', { limits: set(slides), quota: daily('sliding'), tells: true }, 0.95],
    ['a quota that is said to slide, and begins anew', { limits: set(slides), quota: daily('fixed') }, 0.95],
    ['a quota that refills call by call', { limits: set(slides), quota: daily('refill'), tells: true }, 0.95],
  ] as const)('over four days: %s; and hardly a call is left unused', async (_, world, used) => {
    const { accepted, refused } = await live({ ...world, processes: 1, days: 4, seed: 1 });
    expect(refused).toEqual([]);
    expect(accepted).toBeGreaterThan(used * 4 * CALLS);
  });

  it.each([
    [1, 2_000],
    [2, -2_000],
  ])(
    'seed %i: two processes side by side, killed and begun anew all day, with an API whose clock is %i ms ahead',
    async (seed, aheadMs) => {
      const periods = { limit: 200, periodMs: HOUR };
      const hourly = { calls: 200, periodMs: HOUR, startMs: 0 };
      const world = {
        limits: set(hourly),
        quota: periods,
        processes: 2,
        lifeMs: 7 * MINUTE,
        days: 1,
        seed,
        aheadMs,
      };
      const { accepted, refused } = await live(world);
      expect(refused).toEqual([]);
      expect(accepted).toBeGreaterThan(24 * 190);
    },
  );
});

describe('what is set', () => {
  const quota = { calls: 10, periodMs: HOUR, startMs: null };

  it('counts a call until one window after its response, in whichever process', () => {
    const machine = drive({
      quota: null,
      rate: { calls: 2, periodMs: SECOND, startMs: null },
      concurrency: null,
    });
    const [first, second] = [machine.send(), machine.send('usage', 'other')];
    expect(machine.ask()).toMatchObject({ reason: 'concurrency' });
    machine.pass(800);
    machine.answer(first);
    expect(machine.ask()).toMatchObject({ reason: 'rate', until: machine.now + SECOND + 1 });
    machine.pass(900);
    machine.answer(second);
    machine.pass(101);
    machine.send();
  });

  it('counts what a dead process had in flight, and what nobody answered for a minute', () => {
    const machine = drive({ ...set({ ...quota, calls: 2 }), concurrency: 5 });
    machine.send('news', 'dead');
    machine.send('usage', 'silent');
    const later = machine.ask('news', 'me', ['dead']);
    expect(later).toMatchObject({ reason: 'quota', until: T0 + HOUR + 1 });
    expect(machine.state.inFlight.map(({ owner }) => owner)).toEqual(['silent']);
    machine.pass(HOUR + 1);
    machine.send();
    expect(machine.state.inFlight.map(({ owner }) => owner)).toEqual(['me']);
  });

  it('takes what others spent of the same quota from the header', () => {
    const machine = drive(set(quota));
    machine.call({ limit: 10, remaining: 4 });
    expect(machine.shown.quota).toMatchObject({ limit: 10, remaining: 4, source: 'set', other: null });
    for (let call = 0; call < 4; call += 1) machine.call({}, 'news');
    expect(machine.ask()).toMatchObject({ reason: 'quota' });
  });

  it('takes nothing from the header of a response that was asked for in the period before', () => {
    const machine = drive({
      quota: { calls: 1_000, periodMs: DAY, startMs: 0 },
      rate: null,
      concurrency: null,
    });
    machine.pass(DAY - SECOND);
    const slow = machine.send('ai-signals');
    machine.pass(10 * SECOND);
    machine.answer(slow, { limit: 1_000, remaining: 5 });
    expect(machine.shown.quota.remaining).toBe(999);
    machine.call({ limit: 1_000, remaining: 700 }, 'ai-signals');
    expect(machine.shown.quota.remaining).toBe(700);
  });

  it('keeps another limit of the header beside it, and says so once', () => {
    const machine = drive(set({ ...quota, calls: 1_000 }));
    const first = machine.send('ai-signals');
    expect(machine.answer(first, { limit: 40, remaining: 39 })).toEqual({
      say: expect.stringContaining('quota of 40'),
    });
    for (let remaining = 38; remaining > 1; remaining -= 1) {
      machine.call({ limit: 40, remaining }, 'ai-signals');
      expect(machine.shown.notes).toHaveLength(1);
    }
    expect(machine.ask('ai-signals')).toMatchObject({ reason: 'reserve' });
    expect(machine.shown.quota).toMatchObject({ limit: 1_000, other: { limit: 40, remaining: 2 } });
  });

  it('is contradicted by a refusal, which is said once, and pauses all the same', () => {
    const machine = drive(set(quota));
    expect(machine.answer(machine.send(), { status: 429 })).toEqual({
      say: expect.stringMatching(/429.*in spite of/),
    });
    expect(machine.ask()).toMatchObject({ until: machine.now + 1_000 + 125 });
    machine.pass(2_000);
    expect(machine.answer(machine.send(), { status: 429 })).toEqual({ say: null });
    machine.pass(MINUTE);
    machine.call();
    expect(machine.state.concurrency, 'and teaches no limit').toMatchObject({ refused: null });
    expect(machine.state.rate.base).toBeNull();
    expect(machine.shown.notes).toHaveLength(1);
    machine.pass(DAY);
    expect(machine.shown.notes, 'a day later').toEqual([]);
  });

  it('says when calls go on, whatever was refused shortly before the period ends', () => {
    const machine = drive({
      quota: { calls: 1_000, periodMs: DAY, startMs: 0 },
      rate: null,
      concurrency: null,
    });
    machine.call({ limit: 1_000, remaining: 990 }, 'ai-signals');
    machine.pass(20 * HOUR);
    machine.call({ limit: 1_000, remaining: 1 }, 'ai-signals');
    machine.call({ status: 429 }, 'ai-signals');
    machine.call({ status: 429 }, 'ai-signals');
    machine.call({ limit: 1_000, remaining: 999 }, 'ai-signals');
    expect(machine.now - T0 - DAY).toBeLessThan(MINUTE);
  });

  it('teaches nothing of what is not set later', () => {
    const machine = drive({
      quota: null,
      rate: { calls: 50, periodMs: SECOND, startMs: null },
      concurrency: 9,
    });
    const { rate, concurrency } = machine.state;
    for (let call = 0; call < 200; call += 1) {
      machine.call();
      machine.pass(SECOND);
    }
    expect(machine.state.rate.perSecond).toBe(rate.perSecond);
    expect(machine.state.concurrency).toEqual(concurrency);
  });

  it('counts calls from before it was set', () => {
    const machine = drive();
    for (let call = 0; call < 8; call += 1) machine.call();
    const later = drive(set(quota), machine.state);
    later.pass(2 * MINUTE);
    later.call();
    expect(later.shown.quota.remaining).toBe(1);
    const rate = { calls: 8, periodMs: HOUR, startMs: null };
    expect(drive({ quota: null, rate, concurrency: 2 }, machine.state).ask()).toMatchObject({
      reason: 'rate',
    });
  });

  it('stays spent where the clock goes back', () => {
    const machine = drive(set(quota));
    for (let call = 0; call < 10; call += 1) machine.call();
    machine.pass(-10 * DAY);
    const waits = machine.ask();
    expect(waits).toMatchObject({ reason: 'quota' });
    expect('until' in waits && waits.until - machine.now).toBeLessThanOrEqual(HOUR + 1);
  });
});
