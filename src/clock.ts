/** Time as a parameter, so that tests run hours of schedule in milliseconds. */

import { setTimeout as delay } from 'node:timers/promises';

export type Clock = {
  /** Epoch milliseconds. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
};

const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  async sleep(ms, signal) {
    let left = Math.max(0, ms);
    do {
      const step = Math.min(left, LONGEST_TIMER_MS);
      try {
        await delay(step, undefined, signal ? { signal } : {});
      } catch (aborted) {
        signal?.throwIfAborted();
        throw aborted;
      }
      left -= step;
    } while (left > 0);
  },
};

/** A number in [0, 1), as from `Math.random`. */
export type Random = () => number;

/** ISO 8601 in UTC with milliseconds: the form of every timestamp that we make. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
