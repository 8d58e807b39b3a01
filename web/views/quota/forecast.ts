/** What is left of the quota in the time to come, if all goes as the plan has it. */

import type { Overview } from '../../../src/serve/page/wire.ts';
import { HOUR_MS } from '../../formats.ts';

type Plan = Pick<Overview['plan'], 'quota' | 'datasets'>;

type Level = { at: number; left: number };

/** A shorter period would be drawn as a block. */
const SHORTEST_PERIOD_MS = HOUR_MS / 6;
const AHEAD = { periods: 3, leastMs: HOUR_MS, mostMs: 24 * HOUR_MS };
/** Of a quota that comes back call by call. */
const TRICKLE_AHEAD_MS = 6 * HOUR_MS;

/** Calls an hour of all that draws on the quota, of others, too. */
export function spentPerHour({ quota, datasets }: Plan): number {
  const drawn = datasets.filter(({ drawsOnQuota }) => drawsOnQuota);
  return drawn.reduce((sum, { calls }) => sum + (calls ?? 0), 0) / 24 + quota.othersPerHour;
}

/** A broken line from now on; empty where too little is known. @param now epoch milliseconds, as `at`. */
export function forecast(plan: Plan, now: number): Level[] {
  const { limit, remaining, reserve, refill } = plan.quota;
  if (limit === null || remaining === null) return [];
  const perHour = spentPerHour(plan);
  // What is kept back is not spent, and what was spent already does not come back before its time.
  const floor = Math.min(reserve, remaining);
  if (refill.perHour !== null)
    return spend({ at: now, left: remaining }, TRICKLE_AHEAD_MS, perHour - refill.perHour, floor, limit);
  const periodMs = (refill.periodSeconds ?? 0) * 1_000;
  if (refill.nextBy === null || periodMs < SHORTEST_PERIOD_MS) return [];
  const end = now + Math.min(AHEAD.mostMs, Math.max(AHEAD.leastMs, AHEAD.periods * periodMs));
  const line: Level[] = [];
  let from: Level = { at: now, left: remaining };
  for (let reset = Math.max(now, Date.parse(refill.nextBy)); ; reset += periodMs) {
    const until = Math.min(reset, end);
    line.push(...spend(from, until - from.at, perHour, from.at === now ? floor : reserve, limit));
    if (until === end) return line;
    from = { at: reset + 1, left: limit };
  }
}

/** The beginning, where it reaches the least or the most there can be, and the end. */
function spend(from: Level, ms: number, perHour: number, least: number, most: number): Level[] {
  const bound = perHour > 0 ? least : most;
  const reachedInMs = perHour === 0 ? Number.POSITIVE_INFINITY : ((from.left - bound) / perHour) * HOUR_MS;
  if (reachedInMs >= ms) return [from, { at: from.at + ms, left: from.left - (perHour * ms) / HOUR_MS }];
  const reached = Math.max(0, reachedInMs);
  return [from, { at: from.at + reached, left: bound }, { at: from.at + ms, left: bound }];
}
