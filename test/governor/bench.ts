/** Governors on one kept state, on a virtual clock; and the machine driven by hand. */

import { virtualClock } from '../../lab/simulate/clock.ts';
import type { AccountLimits } from '../../src/config/values.ts';
import { type Description, describe } from '../../src/governor/describe.ts';
import { govern } from '../../src/governor/machine.ts';
import { type Decision, type Event, initialState, type State } from '../../src/governor/state.ts';
import {
  createGovernor,
  type Governor,
  type GovernorParts,
  type RequestOutcome,
} from '../../src/governor.ts';

export const T0 = Date.UTC(2026, 0, 1);
export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export const unset: AccountLimits = { quota: null, rate: null, concurrency: null };
export const fine: RequestOutcome = { status: 200, limit: null, remaining: null, retryAfterMs: null };
export const never = new AbortController().signal;

/** Makes one call, which ends so. */
export async function callOnce(governor: Governor, outcome: RequestOutcome, job = 'news'): Promise<void> {
  const complete = await governor.acquire(job, never);
  complete(outcome);
}

export const callFine = (governor: Governor) => callOnce(governor, fine);

export function setup(parts: Partial<GovernorParts> = {}, clock = virtualClock()) {
  /** As the store keeps it. */
  const shared = { text: undefined as string | undefined, writes: 0, broken: false };
  const open = (owner: string, others: Partial<GovernorParts> = {}) =>
    createGovernor({
      transact(change) {
        if (shared.broken) throw new Error('the disk is full');
        const { state, result } = change(shared.text === undefined ? undefined : JSON.parse(shared.text));
        if (state) shared.text = JSON.stringify(state);
        shared.writes += state ? 1 : 0;
        return result;
      },
      clock,
      random: () => 0.5,
      owner,
      longestWaitMs: 3_000,
      ...parts,
      ...others,
    });
  return {
    shared,
    clock,
    open,
    governor: open('first'),
    get state(): State {
      return JSON.parse(shared.text ?? 'null');
    },
  };
}

/** One process, one job unless named otherwise. Each call takes 50 ms. */
export function drive(set: AccountLimits = unset, state: State = initialState(T0)) {
  let now = T0;
  const on = (event: Event): Decision => {
    const before = JSON.stringify(state);
    const [next, decision] = govern(state, event, now);
    if (JSON.stringify(state) !== before) throw new Error('the machine changed what it was given');
    state = next;
    return decision;
  };
  const ask = (job = 'news', owner = 'me', gone: string[] = []) => on({ type: 'ask', owner, job, set, gone });
  const answer = (id: number, outcome: Partial<RequestOutcome> = {}) =>
    on({ type: 'response', id, roll: 0.5, key: null, ...fine, ...outcome });
  return {
    on,
    ask,
    answer,
    /** The id of a request that may go now. */
    send(job = 'news', owner = 'me'): number {
      const decision = ask(job, owner);
      if (!('id' in decision)) throw new Error(JSON.stringify(decision));
      return decision.id;
    },
    /** Waits as told until a call may go, then makes it; gives the time waited. */
    call(outcome: Partial<RequestOutcome> = {}, job = 'news'): number {
      const asked = now;
      for (let decision = ask(job); ; decision = ask(job)) {
        if ('id' in decision) {
          const waited = now - asked;
          now += 50;
          answer(decision.id, outcome);
          return waited;
        }
        if (!('until' in decision) || 'refused' in decision) throw new Error(JSON.stringify(decision));
        now = Math.max(now + 1, decision.until);
      }
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
