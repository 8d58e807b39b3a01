/** Calls that come anew with each period, less the reserve. */

import type { Budget } from '../../src/plan/spacing.ts';
import type { Quota } from './worlds.ts';

/** What a call takes. */
export const CALL_MS = 250;

export type Pool = {
  /** Takes one call; false where none is left before the reset. */
  take(now: number): boolean;
  nextReset(now: number): number;
  budget(now: number): Budget;
};

export function createPool({ limit, periodMs, reserve }: Quota): Pool {
  const perPeriod = limit - reserve;
  let [period, used] = [-1, 0];
  const turn = (now: number) => {
    const current = Math.floor(now / periodMs);
    if (current !== period) [period, used] = [current, 0];
  };
  const nextReset = (now: number) => (Math.floor(now / periodMs) + 1) * periodMs;
  return {
    nextReset,
    take(now) {
      turn(now);
      if (used >= perPeriod) return false;
      used += 1;
      return true;
    },
    budget(now) {
      turn(now);
      return { remaining: perPeriod - used, nextInMs: nextReset(now) - now, perPeriod, periodMs };
    },
  };
}
