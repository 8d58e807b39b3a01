/** Time as a parameter, so that hours pass in milliseconds in tests. */

import { setTimeout as delay } from 'node:timers/promises';

export type Clock = {
  /** Epoch milliseconds; somebody may set this clock. */
  now(): number;
  /** Milliseconds of a clock that nobody sets; it may stand still while the machine sleeps. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Does `work` once `ms` have passed. @returns what cancels that. */
  after(ms: number, work: () => void): () => void;
};

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** A timer that is set for longer ends at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
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
  after(ms, work) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};

/** A greater difference means that the clock was set. */
export const CLOCK_TOLERANCE_MS = 2_000;

/** How long ago `at` was, in milliseconds; null where it lies ahead, since the clock was set back. */
export function ageOf(at: number, now: number): number | null {
  const age = now - at;
  return age < -CLOCK_TOLERANCE_MS ? null : Math.max(0, age);
}

/** Whether an age of `ageOf` exceeds the bound; an unknown one exceeds every bound. @param bound undefined for none. */
export function isTooOld(age: number | null, bound: number | undefined): boolean {
  return bound !== undefined && (age === null || age > bound);
}

/** Says that the latest proof began at `startedAt` (ISO 8601 UTC), which lies ahead of the clock. */
export const describeAhead = (startedAt: string) => `${aheadWords.before}${startedAt}${aheadWords.after}`;

/** Says the same of the latest look, a walk or a glance. */
export const describeSeenAhead = (startedAt: string) =>
  `the clock was ahead at the last look (seen as of ${startedAt}), or is behind now: the age is not known`;

/** The words of `describeAhead` before and after the time. */
export const aheadWords = {
  before: 'the clock was ahead at the last walk (complete as of ',
  after: '), or is behind now: the age is not known',
} as const;

export const CLOCK_ADVICE = 'keep the clock by NTP, such as timedatectl set-ntp true';

/** A number in [0, 1), as from `Math.random`. */
export type Random = () => number;

/** ISO 8601 in UTC with milliseconds: the form of every timestamp that we make. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
