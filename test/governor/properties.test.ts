import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Event } from '../../src/governor/events.ts';
import { reserveOf } from '../../src/governor/look.ts';
import { govern } from '../../src/governor/machine.ts';
import { levelAt } from '../../src/governor/quota.ts';
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
/** Calls in the pool of an API that tells truly what is left. */
const POOL = 30;

/** What happens to a governor that knows nothing yet, to one that knows a fast API, or one whose quota is used up. */
const life = fc.record({
  begin: fc.constantFrom(initialState(), acquainted(), nearlyOut()),
  steps: fc.array(step, { minLength: 1, maxLength: 150 }),
});

describe('whatever happens', () => {
  it('no call goes before its pause is over, nor while the key or an endpoint is refused', () => {
    fc.assert(
      fc.property(life, (lived) => {
        live(lived, ({ before, event, decision, now }) => {
          if (event.type !== 'ask' || !('go' in decision)) return;
          expect(before.pause === null || before.pause.resumeAt <= now).toBe(true);
          expect(before.keyRefused === null || before.keyRefused.probeAt <= now).toBe(true);
          const known = before.jobs[event.job];
          expect(!known?.outage || known.outage.resumeAt <= now).toBe(true);
          expect(!known?.forbidden || known.forbidden.probeAt <= now).toBe(true);
        });
      }),
      { numRuns: 500 },
    );
  });

  it('no more calls are under way than are allowed, all processes together, and one alone after a refusal', () => {
    fc.assert(
      fc.property(life, (lived) => {
        live(lived, ({ before, state, event, decision, mostAllowed }) => {
          if (event.type !== 'ask' || !('go' in decision)) return;
          const leases = Object.values(state.leases);
          const most = leases.reduce(
            (sum, { calls, parallel }) => sum + Math.min(calls, Math.max(1, parallel)),
            0,
          );
          expect(most).toBeLessThanOrEqual(mostAllowed);
          if (before.pause) expect(leases.reduce((sum, { calls }) => sum + calls, 0)).toBe(1);
        });
      }),
      { numRuns: 500 },
    );
  });

  it('the reserve is touched by single looks only, and never two of them at once', () => {
    fc.assert(
      fc.property(life, (lived) => {
        live(lived, ({ before, state, event, decision, now }) => {
          if (event.type !== 'ask' || !('go' in decision) || before.pause) return;
          // As the ask found it: what silent processes had in hand is spent by then.
          const level = levelAt(state.quota, now);
          const held = Object.values(state.leases).reduce((sum, { calls }) => sum + calls, 0);
          const unanswered = held - decision.go;
          if (level === null || level - held >= reserveOf(state.quota)) return;
          const apart = state.quota.members[event.job];
          expect(decision.go === 1 && unanswered === 0 ? true : apart !== undefined && apart.apart >= 3).toBe(
            true,
          );
        });
      }),
      { numRuns: 500 },
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
};

function acquainted(): State {
  const machine = drive();
  for (let call = 0; call < 60; call += 1) machine.call({ inflight: 1 + (call % 2) });
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
  const underWay: { owner: string; job: string }[] = [];
  let left = begin.quota.level ?? POOL;

  const on = (event: Event) => {
    // Where the clock went back, all times go back with it.
    const before = onTime(state, now);
    const [next, decision] = govern(state, event, now);
    state = next;
    const { seen, refused } = state.concurrency;
    const mostAllowed = refused === null ? seen + 1 : refused;
    witness({ before, state, event, decision, now, mostAllowed });
    return decision;
  };

  for (const step of steps) {
    if (step.do === 'pass' || step.do === 'jump') now += step.ms;
    else if (step.do === 'ask') {
      const { owner, job, want } = step;
      const decision = on({ type: 'ask', owner, job, want, age: 60_000, target: 60_000, weight: 1 });
      const calls = 'go' in decision ? decision.go : 0;
      underWay.push(...Array.from({ length: calls }, () => ({ owner, job })));
    } else if (step.do === 'crash') {
      on({ type: 'gone', owner: 'two' });
      underWay.splice(0, underWay.length, ...underWay.filter(({ owner }) => owner !== 'two'));
    } else if (step.do === 'refill') left = POOL;
    else {
      const call = underWay.shift();
      if (!call) continue;
      if (step.do === 'release') on({ type: 'release', owner: call.owner, unused: 1 });
      if (step.do === 'tell') {
        const [status, remaining] = left > 0 ? [200, --left] : [429, null];
        const told = {
          limit: remaining === null ? null : POOL,
          remaining,
          retryAfterMs: null,
          errorCode: null,
        };
        on({ type: 'answer', ...call, status, ...told, latencyMs: 40, inflight: 1, roll: 0 });
      }
      if (step.do === 'lose') on({ type: 'lost', ...call, roll: 0.5 });
      if (step.do === 'answer')
        on({ type: 'answer', ...call, ...step.reply, errorCode: null, latencyMs: 40, inflight: 1 });
    }
  }
  return { state, now };
}

/** Asks again whenever it was told to; the time until a call goes, and the longest that an API said to wait. */
function untilGo(begin: State, job: string, from: number): [number, number] {
  const { forbidden, outage } = begin.jobs[job] ?? {};
  const told = [begin.pause?.resumeAt, begin.keyRefused?.probeAt, forbidden?.probeAt, outage?.resumeAt].map(
    (at) => (at ?? from) - from,
  );
  let state = begin;
  let now = from;
  for (let asked = 0; asked < 5_000; asked += 1) {
    const [next, decision] = govern(
      state,
      { type: 'ask', owner: 'me', job, want: 1, age: 60_000, target: 60_000, weight: 1 },
      now,
    );
    state = next;
    if ('go' in decision) return [now - from, Math.max(0, ...told)];
    now = Math.max(
      now + 1,
      'wait' in decision ? decision.wait.until : 'refused' in decision ? decision.until : now,
    );
  }
  throw new Error('asked 5,000 times without leave');
}
