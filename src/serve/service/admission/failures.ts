/** Calls without a valid key, limited by address: what guesses keys is slowed down, and a valid key is never asked. */

import { isIPv6 } from 'node:net';
import { type RefillState, type RefillTerms, refill } from '../limits/counters.ts';

/** So many at once are slips of a program; more than so many a second are none. */
const TERMS: RefillTerms = { calls: 5, periodMs: 1_000, most: 300 };

/** Beyond these the addresses that were quiet for longest are forgotten. */
const MOST_ADDRESSES = 10_000;

export type Failures = {
  /** Counts one. @returns how long the address has to wait, in milliseconds; 0 where it does not. */
  count(address: string, now: number): number;
};

export function countFailures(): Failures {
  const states = new Map<string, RefillState>();
  return {
    count(address, now) {
      const network = networkOf(address);
      const before = states.get(network) ?? refill.begin(now, TERMS);
      const state = refill.at(before, now, TERMS);
      const isOver = refill.remaining(state, TERMS) === 0;
      states.delete(network);
      states.set(network, isOver ? state : refill.take(state, TERMS));
      for (const oldest of states.keys()) {
        if (states.size <= MOST_ADDRESSES) break;
        states.delete(oldest);
      }
      return isOver ? refill.readyAt(state, TERMS) - now : 0;
    },
  };
}

/** Who has one address of IPv6 has all those that share its first half. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address;
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? [];
  const [before, after] = [head, tail ?? ''].map((part) => part.split(':').filter((group) => group !== ''));
  const groups = [
    ...(before ?? []),
    ...Array(8 - (before?.length ?? 0) - (after?.length ?? 0)).fill('0'),
    ...(after ?? []),
  ];
  return groups.slice(0, 4).join(':');
}
