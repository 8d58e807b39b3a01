/** Drives the state machine by hand: one process, one job unless named otherwise. */

import { type Description, describe } from '../../src/governor/describe.ts';
import { govern } from '../../src/governor/machine.ts';
import type { Decision, Event } from '../../src/governor/state.ts';
import { initialState, type State } from '../../src/governor/state.ts';

export const T0 = Date.UTC(2026, 0, 1);

export type Told = {
  status?: number;
  limit?: number | null;
  remaining?: number | null;
  retryAfterMs?: number | null;
  inFlight?: number;
  othersInFlight?: number;
  responsesBefore?: number;
  latencyMs?: number;
  isBlocked?: boolean;
};

export function drive(state: State = initialState(), begin = T0) {
  let now = begin;
  const on = (event: Event): Decision => {
    const [next, decision] = govern(state, [event], now);
    state = next;
    return decision;
  };
  /** By owner and job: what was known when its latest call was let go. */
  const known = new Map<string, number>();
  const ask = (job = 'news', owner = 'me', want = 1) => {
    const decision = on({ type: 'ask', owner, job, want, inFlight: 1 });
    if ('permits' in decision) known.set(`${owner} ${job}`, decision.responsesBefore);
    return decision;
  };
  const answer = (told: Told = {}, job = 'news', owner = 'me') => {
    const { status = 200, limit = null, remaining = null, retryAfterMs = null, latencyMs = 50 } = told;
    const { isBlocked = false, inFlight = 1, othersInFlight = 0 } = told;
    const { responsesBefore = known.get(`${owner} ${job}`) ?? 0 } = told;
    const reply = { status, isBlocked, limit, remaining, retryAfterMs, latencyMs, key: null };
    on({ type: 'response', owner, job, inFlight, othersInFlight, responsesBefore, roll: 0.5, ...reply });
  };
  return {
    on,
    ask,
    answer,
    /** Waits as told until a call may go, then makes it; gives the time waited. */
    call(told: Told = {}, job = 'news', owner = 'me'): number {
      const asked = now;
      for (let decision = ask(job, owner); ; decision = ask(job, owner)) {
        if ('permits' in decision) break;
        if (!('wait' in decision)) throw new Error(JSON.stringify(decision));
        now = Math.max(now + 1, decision.wait.until);
      }
      const waited = now - asked;
      now += 50;
      answer(told, job, owner);
      return waited;
    },
    pass(ms: number) {
      now += ms;
    },
    /** What a person is shown of the state. */
    get shown(): Description {
      return describe(state, now);
    },
    get now() {
      return now;
    },
    get state() {
      return state;
    },
  };
}
