/** Governors on one kept state, on a virtual clock. */

import { virtualClock } from '../../lab/simulate/clock.ts';
import type { State } from '../../src/governor/state.ts';
import {
  createGovernor,
  type Governor,
  type GovernorParts,
  type RequestOutcome,
} from '../../src/governor.ts';

export const fine: RequestOutcome = {
  status: 200,
  limit: null,
  remaining: null,
  retryAfterMs: null,
  latencyMs: 1,
};
export const never = new AbortController().signal;

/** Makes one call, which ends so. */
export async function callOnce(governor: Governor, outcome: RequestOutcome, job = 'news'): Promise<void> {
  const complete = await governor.acquire(job, never);
  complete(outcome);
}

export const callFine = (governor: Governor) => callOnce(governor, fine);

type GovernorOptions = Partial<Pick<GovernorParts, 'lag' | 'isGone' | 'keyDigest' | 'again' | 'isRemote'>>;

export function setup(parts: GovernorOptions = {}, clock = virtualClock()) {
  const shared: {
    state: State | undefined;
    transactions: number;
    /** Those that have begun, and may not have ended. */
    begun: number;
    broken: boolean;
    /** Of a state on another machine: its clock, and what its transactions wait for. */
    now?: () => number;
    away?: Promise<void> | undefined;
  } = { state: undefined, transactions: 0, begun: 0, broken: false };
  const open = (owner: string, others: GovernorOptions = {}) => ({
    clock,
    governor: createGovernor({
      transact: (change) => {
        if (shared.broken) throw new Error('the disk is full');
        shared.begun += 1;
        const transact = () => {
          const { state, result } = change(shared.state, shared.now?.());
          shared.state = state;
          shared.transactions += 1;
          return result;
        };
        return shared.away ? shared.away.then(transact) : transact();
      },
      clock,
      random: () => 0.5,
      owner,
      longestWaitMs: 3_000,
      ...parts,
      ...others,
    }),
  });
  return { shared, open, ...open('first') };
}
