/** Gates on one kept state, on a virtual clock. */

import { virtualClock } from '../../lab/simulate/clock.ts';
import { type Answer, createGate, type Gate, type GateParts } from '../../src/governor/gate.ts';
import type { State } from '../../src/governor/state.ts';

export const fine: Answer = {
  status: 200,
  limit: null,
  remaining: null,
  retryAfterMs: null,
  latencyMs: 1,
};
export const never = new AbortController().signal;

export async function callFine(gate: Gate): Promise<void> {
  await gate.pass('news', never);
  gate.settle('news', fine);
}

type Given = Partial<Pick<GateParts, 'lag' | 'isGone' | 'keyDigest' | 'again'>>;

/** @param isElsewhere whether a change of the kept state is a promise. */
export function setup(parts: Given = {}, clock = virtualClock(), isElsewhere = false) {
  const shared: { state: State | undefined; transactions: number; broken: boolean } = {
    state: undefined,
    transactions: 0,
    broken: false,
  };
  const open = (owner: string, others: Given = {}) => ({
    clock,
    gate: createGate({
      transact: (change) => {
        const work = () => {
          if (shared.broken) throw new Error('the disk is full');
          const { state, result } = change(structuredClone(shared.state));
          shared.state = state;
          shared.transactions += 1;
          return result;
        };
        return isElsewhere ? Promise.resolve().then(work) : work();
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
