import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { govern } from '../../src/governor/machine.ts';
import type { Event } from '../../src/governor/state.ts';
import { initialState, onTime, readState, type State } from '../../src/governor/state.ts';
import { drive, T0 } from './drive.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

type Step =
  | { do: 'ask'; owner: string; job: string; want: number }
  | { do: 'answer'; reply: Reply }
  | { do: 'lose' | 'release' | 'crash' | 'tell' | 'refill' }
  | { do: 'pass' | 'jump'; ms: number };
type Reply = {
  status: number;
  limit: number | null;
  remaining: number | null;
  retryAfterMs: number | null;
  roll: number;
};

const owner = fc.constantFrom('one', 'two');
const job = fc.constantFrom('ai-signals', 'news', 'usage');
const roll = fc.double({ min: 0, max: 0.999, noNaN: true });
const nonsense = fc.constantFrom(0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e12);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      owner,
      job,
      want: fc.integer({ min: 1, max: 10 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      reply: fc.record({
        status: fc.constantFrom(200, 200, 200, 200, 429, 429, 503, 401, 403, 500),
        limit: fc.option(fc.integer({ min: 1, max: 500 })),
        remaining: fc.option(fc.integer({ min: -2, max: 500 })),
        retryAfterMs: fc.option(fc.oneof(fc.integer({ min: 1, max: 100_000 }), nonsense)),
        roll,
      }),
    }),
  },
  { weight: 12, arbitrary: fc.record({ do: fc.constant('tell' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('lose' as const, 'release' as const, 'crash' as const, 'refill' as const),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 60_000 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('jump' as const),
      ms: fc.integer({ min: -30 * 24 * HOUR, max: 30 * 24 * HOUR }),
    }),
  },
);
/** Calls in the pool of an API that tells truly what is left, and how many of them are kept for quota probes at least. */
const POOL = 30;
const LEAST_RESERVE = 2;

/** What happens where every answer tells truly what is left of one pool, which fills up at moments nobody knows. */
const honest: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 40,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      owner,
      job,
      want: fc.integer({ min: 1, max: 10 }),
    }),
  },
  { weight: 40, arbitrary: fc.record({ do: fc.constant('tell' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('release' as const, 'crash' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('refill' as const) }) },
  {
    weight: 30,
    arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 60_000 }) }),
  },
);

/** What happens to a governor that knows nothing yet, to one that knows a fast API, or one whose quota is used up. */
const life = fc.record({
  begin: fc.constantFrom(initialState(), acquainted(), nearlyOut()),
  steps: fc.array(step, { minLength: 1, maxLength: 150 }),
});

describe('whatever happens', () => {
  it('no call goes before its pause is over, nor while the key or an endpoint is refused, and no more are under way than are allowed, all processes together: one alone after a refusal', () => {
    fc.assert(
      fc.property(life, (lived) => {
        live(lived, ({ before, state, event, decision, now, mostAllowed }) => {
          if (event.type !== 'ask' || !('permits' in decision)) return;
          expect(before.pause === null || before.pause.resumeAt <= now).toBe(true);
          expect(before.keyRefused === null || before.keyRefused.retryAt <= now).toBe(true);
          const known = before.jobs[event.job];
          expect(!known?.outage || known.outage.resumeAt <= now).toBe(true);
          expect(!known?.forbidden || known.forbidden.retryAt <= now).toBe(true);
          const leases = Object.values(state.leases);
          const most = leases.reduce(
            (sum, { permits, maxInFlight }) => sum + Math.min(permits, Math.max(1, maxInFlight)),
            0,
          );
          expect(most).toBeLessThanOrEqual(mostAllowed);
          if (before.pause) expect(leases.reduce((sum, { permits }) => sum + permits, 0)).toBe(1);
        });
      }),
      { numRuns: 2_000 },
    );
  });

  it('of a pool that is told truly, the last calls go only as quota probes: one alone, with nothing under way', () => {
    fc.assert(
      fc.property(fc.array(honest, { minLength: 1, maxLength: 150 }), (steps) => {
        live({ begin: nearlyOut(), steps }, ({ decision, left, underWay }) => {
          if (!('permits' in decision)) return;
          const isProbe = decision.permits === 1 && underWay === 0;
          if (!isProbe) expect(left - decision.permits).toBeGreaterThanOrEqual(LEAST_RESERVE);
        });
      }),
      { numRuns: 1_500 },
    );
  });

  it('a call goes at most three days after all that was told to wait is over', () => {
    fc.assert(
      fc.property(life, job, (lived, asking) => {
        const { state, now } = live(lived);
        const [waitedMs, longestTold] = untilGo(state, asking, now);
        expect(waitedMs).toBeLessThanOrEqual(longestTold + 3 * DAY + HOUR);
      }),
      { numRuns: 500 },
    );
  });

  it('the state stays readable and finite', () => {
    fc.assert(
      fc.property(life, (lived) => {
        const { state } = live(lived);
        const written = JSON.parse(JSON.stringify(state)) as State;
        expect(readState(written)).toEqual(written);
        expect(written).toEqual(state);
        expect(JSON.stringify(state).length).toBeLessThan(8_000);
      }),
      { numRuns: 500 },
    );
  });
});

type Life = { begin: State; steps: readonly Step[] };

type Witness = {
  before: State;
  state: State;
  event: Event;
  decision: ReturnType<typeof govern>[1];
  now: number;
  mostAllowed: number;
  /** Of the pool of an API that tells truly, and calls not answered yet, both as the event found them. */
  left: number;
  underWay: number;
};

function acquainted(): State {
  const machine = drive();
  for (let call = 0; call < 60; call += 1) machine.call({ inFlight: 1 + (call % 2) });
  return machine.state;
}

function nearlyOut(): State {
  const machine = drive();
  for (let remaining = POOL - 1; remaining > 4; remaining -= 1) machine.call({ limit: POOL, remaining });
  return machine.state;
}

/** Lives through the steps as processes would: answers come only to calls that were allowed. */
function live({ begin, steps }: Life, witness: (seen: Witness) => void = () => undefined) {
  let state = begin;
  let now = Math.max(T0, begin.seenAt);
  const underWay: { owner: string; job: string; accepted: boolean; responsesBefore: number }[] = [];
  let left = begin.quota.level ?? POOL;

  const on = (event: Event) => {
    // Where the clock went back, all times go back with it.
    const before = onTime(state, now);
    const [next, decision] = govern(state, [event], now);
    state = next;
    const { proven, refused } = state.concurrency;
    const mostAllowed = refused ?? proven + 1;
    witness({ before, state, event, decision, now, mostAllowed, left, underWay: underWay.length });
    return decision;
  };

  for (const step of steps) {
    if (step.do === 'pass' || step.do === 'jump') now += step.ms;
    else if (step.do === 'ask') {
      const { owner, job, want } = step;
      const decision = on({ type: 'ask', owner, job, want, inFlight: 1 });
      const calls = 'permits' in decision ? decision.permits : 0;
      for (let call = 0; call < calls; call += 1) {
        underWay.push({ owner, job, accepted: left > 0, responsesBefore: state.quota.responses });
        left = Math.max(0, left - 1);
      }
    } else if (step.do === 'crash') {
      on({ type: 'gone', owner: 'two' });
      underWay.splice(0, underWay.length, ...underWay.filter(({ owner }) => owner !== 'two'));
    } else if (step.do === 'refill') left = POOL;
    else {
      const call = underWay.shift();
      if (!call) continue;
      const { owner, job, accepted, responsesBefore } = call;
      const ours = { inFlight: 1, othersInFlight: 0, responsesBefore, latencyMs: 40, key: null };
      const reply = { retryAfterMs: null, roll: 0, ...ours };
      if (step.do === 'release') {
        if (accepted) left = Math.min(POOL, left + 1);
        on({ type: 'release', owner, permits: 1 });
      }
      if (step.do === 'tell') {
        const told = accepted
          ? { status: 200, limit: POOL, remaining: left }
          : { status: 429, limit: null, remaining: null };
        on({ type: 'response', owner, job, ...reply, ...told });
      }
      if (step.do === 'lose') on({ type: 'lost', owner, job, roll: 0.5 });
      if (step.do === 'answer') on({ type: 'response', owner, job, ...reply, ...step.reply });
    }
  }
  return { state, now };
}

/** Asks again whenever it was told to; the time until a call goes, and the longest that an API said to wait. */
function untilGo(begin: State, job: string, from: number): [number, number] {
  const { forbidden, outage } = begin.jobs[job] ?? {};
  const told = [begin.pause?.resumeAt, begin.keyRefused?.retryAt, forbidden?.retryAt, outage?.resumeAt].map(
    (at) => (at ?? from) - from,
  );
  let state = begin;
  let now = from;
  for (let asked = 0; asked < 5_000; asked += 1) {
    const [next, decision] = govern(state, [{ type: 'ask', owner: 'me', job, want: 1, inFlight: 1 }], now);
    state = next;
    if ('permits' in decision) return [now - from, Math.max(0, ...told)];
    now = Math.max(
      now + 1,
      'wait' in decision ? decision.wait.until : 'refused' in decision ? decision.until : now,
    );
  }
  throw new Error('asked 5,000 times without a permit');
}
