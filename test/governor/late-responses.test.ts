import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describe as describeState } from '../../src/governor/describe.ts';
import type { State } from '../../src/governor/state.ts';
import { callOnce, fine, never, setup } from './bench.ts';
import { drive } from './drive.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

describe('an answer that others overtook', () => {
  it('tells of no reset where the calls sent with it were refused meanwhile: the period stays known', () => {
    const limit = 60;
    const machine = drive();
    let used = 0;
    let hour = -1;
    const wait = (job = 'news') => {
      for (let asked = machine.ask(job); !('permits' in asked); asked = machine.ask(job))
        machine.pass('wait' in asked ? Math.max(1, asked.wait.until - machine.now) : 1);
      if (Math.floor(machine.now / HOUR) !== hour) used = 0;
      hour = Math.floor(machine.now / HOUR);
    };
    const take = () => {
      const isRefused = used >= limit;
      if (!isRefused) used += 1;
      machine.pass(50);
      machine.answer(isRefused ? { status: 429 } : {});
      return isRefused;
    };
    const isPutToTheTest = () => machine.state.quota.level === null && used === limit - 1;
    for (let call = 0; call < 30 * limit || !isPutToTheTest(); call += 1) {
      wait();
      take();
    }
    const before = machine.shown.quota.refill;
    expect(before).toMatchObject({ confidence: 'sure', periodMs: HOUR });

    // The API takes the first of two calls, slowly, and refuses the second, at once.
    expect(machine.ask('smart-wallets')).toHaveProperty('permits');
    machine.pass(20);
    expect(machine.ask('news')).toHaveProperty('permits');
    used = limit;
    machine.pass(25);
    machine.answer({ status: 429, inFlight: 2 }, 'news');
    machine.pass(25);
    machine.answer({}, 'smart-wallets');

    expect(machine.shown.quota.refill).toMatchObject({ confidence: 'sure', periodMs: HOUR });
    let refused = 0;
    const until = machine.now + 12 * HOUR;
    while (machine.now < until) {
      wait();
      if (take()) refused += 1;
    }
    expect(refused).toBeLessThanOrEqual(2);
  });

  it('tells of no reset where it was made before one and is told after it', () => {
    const machine = drive();
    const told = (remaining: number, job: string) => machine.answer({ limit: 100, remaining }, job);
    machine.call({ limit: 100, remaining: 4 }, 'news');
    machine.pass(SECOND);
    machine.ask('news');
    machine.pass(SECOND);
    machine.ask('usage');
    machine.pass(SECOND);
    told(99, 'usage');
    const { last } = machine.state.quota.window;
    machine.pass(SECOND);
    told(3, 'news');
    expect(machine.shown.quota).toMatchObject({ remaining: 98, othersPerHour: 0 });
    machine.call({ limit: 100, remaining: 98 }, 'usage');
    expect(machine.state.quota.window).toMatchObject({ last, periods: 0 });
  });

  it('does not set back what is left where a later one of its job came before it, as with prefetched ones', async () => {
    const { governor, shared, clock } = setup();
    for (let call = 0; call < 600; call += 1) await callOnce(governor, fine);
    await clock.sleep(SECOND);
    const kept = shared.state;
    if (kept) kept.concurrency = { ...kept.concurrency, proven: 4 };
    const told = (remaining: number) => ({ ...fine, limit: 1_000, remaining });
    await callOnce(governor, told(300));
    const completeLate = await governor.acquire('news', never);
    await clock.sleep(SECOND);
    await callOnce(governor, told(999), 'usage');
    await clock.sleep(SECOND);
    const completeNext = await governor.acquire('news', never);
    completeNext(told(998));
    completeLate(told(299));
    await governor.close();
    const { quota } = describeState(shared.state as State, clock.now());
    expect(quota).toMatchObject({ remaining: 997 });
  });

  it('never tells of a reset that was none where all answers say what is left, in whatever order they come', () => {
    fc.assert(
      fc.property(world('all'), (spec) => {
        for (const { afterAt, seenAt } of resetsSeen(spec)) {
          const reset = Math.floor(seenAt / spec.periodMs) * spec.periodMs;
          expect(reset).toBeGreaterThanOrEqual(afterAt - LONGEST_MS);
        }
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  });

  it('never tells of a reset where it was sent before the latest refusal came', () => {
    fc.assert(
      fc.property(world('one', 'none'), (spec) => {
        for (const { sentAt, refusedAt } of resetsSeen(spec))
          expect(sentAt).toBeGreaterThanOrEqual(refusedAt);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  });
});

describe('a request that was stopped, and that the API never counted', () => {
  it('makes no later one look like a reset, where one endpoint says what is left', () => {
    fc.assert(
      fc.property(world('one'), fc.array(fc.nat(9), { minLength: 10, maxLength: 10 }), (spec, stops) => {
        const calls = spec.calls.map((call, at) => ({ ...call, isStopped: (stops[at % 10] ?? 9) < 4 }));
        for (const { afterAt, seenAt } of resetsSeen({ ...spec, calls })) {
          const reset = Math.floor(seenAt / spec.periodMs) * spec.periodMs;
          expect(reset).toBeGreaterThanOrEqual(afterAt - LONGEST_MS);
        }
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  });
});

/** The longest that an answer is under way. */
const LONGEST_MS = 40 * SECOND;
const RUNS = 120;

type World = {
  limit: number;
  periodMs: number;
  tells: 'all' | 'one' | 'none';
  calls: {
    job: string;
    owner: string;
    restMs: number;
    thereMs: number;
    backMs: number;
    isStopped?: boolean;
  }[];
};

const ms = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 200 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: LONGEST_MS / 2 }) },
);

/** A pool that is full again at every full period of the clock, of an API that answers in any order. */
const world = (...tells: World['tells'][]): fc.Arbitrary<World> =>
  fc.record({
    limit: fc.integer({ min: 5, max: 60 }),
    periodMs: fc.constantFrom(60 * SECOND, 5 * 60 * SECOND, HOUR),
    tells: fc.constantFrom(...tells),
    calls: fc.array(
      fc.record({
        job: fc.constantFrom('ai-signals', 'news', 'usage', 'smart-wallets'),
        owner: fc.constantFrom('one', 'two'),
        restMs: fc.oneof(
          { weight: 6, arbitrary: fc.constant(0) },
          { weight: 1, arbitrary: fc.integer({ min: 1, max: 60_000 }) },
        ),
        thereMs: ms,
        backMs: ms,
      }),
      { minLength: 20, maxLength: 150 },
    ),
  });

/** A reset that the machine saw: between which moments; when the call was sent that showed it, and a refusal had come last. */
type Reset = { afterAt: number; seenAt: number; sentAt: number; refusedAt: number };

/** The resets that the machine saw in the life of this world. */
function resetsSeen({ limit, periodMs, tells, calls }: World): Reset[] {
  const machine = drive();
  const seen: Reset[] = [];
  let refusedAt = 0;
  /** What is to happen, at which time. */
  const due: { at: number; act: () => void }[] = [];
  let used = 0;
  let period = -1;
  const take = () => {
    if (Math.floor(machine.now / periodMs) !== period) used = 0;
    period = Math.floor(machine.now / periodMs);
    if (used >= limit) return null;
    used += 1;
    return limit - used;
  };
  const passTo = (until: number) => {
    for (;;) {
      const [next] = due.sort((a, b) => a.at - b.at);
      if (!next || next.at > until) break;
      due.shift();
      machine.pass(Math.max(0, next.at - machine.now));
      next.act();
    }
    machine.pass(Math.max(0, until - machine.now));
  };
  for (const { job, restMs, thereMs, backMs, owner, isStopped } of calls) {
    passTo(machine.now + restMs);
    let asked = machine.ask(job, owner);
    for (let tries = 0; 'wait' in asked && tries < 200; tries += 1) {
      passTo(Math.max(machine.now + 1, asked.wait.until));
      asked = machine.ask(job, owner);
    }
    if (!('permits' in asked)) continue;
    const { responsesBefore } = asked;
    const sentAt = machine.now;
    if (isStopped) {
      due.push({
        at: machine.now + thereMs,
        act: () => machine.on({ type: 'lost', owner, job, roll: 0.5, stopped: true }),
      });
      continue;
    }
    due.push({
      at: machine.now + thereMs,
      act() {
        const remaining = take();
        const isTold = tells === 'all' || (tells === 'one' && job === 'ai-signals');
        const report: { limit?: number; remaining?: number } =
          remaining === null || !isTold ? {} : { limit, remaining };
        const status = remaining === null ? 429 : 200;
        due.push({
          at: machine.now + backMs,
          act() {
            const { window, asOfAt } = machine.state.quota;
            const before = window.last;
            machine.answer({ status, ...report, responsesBefore, othersInFlight: 1 }, job, owner);
            const { last } = machine.state.quota.window;
            const shows = last?.afterAt !== before?.afterAt || last?.beforeAt !== before?.beforeAt;
            if (shows) seen.push({ afterAt: asOfAt, seenAt: machine.now, sentAt, refusedAt });
            if (status === 429) refusedAt = machine.now;
          },
        });
      },
    });
  }
  passTo(machine.now + 2 * LONGEST_MS);
  return seen;
}
