/** When a pool at its reserve is worth one call, to see whether more came. */

import { driftPace, mostLooks, type Quota } from './quota.ts';
import { type Bracket, earliestReset, expectedResets, isSure, periodOf, usualTimes } from './window.ts';

const SHORTEST_GAP_MS = 1_000;
const DAY_MS = 86_400_000;
const MOST_GAP_MS = 3 * DAY_MS;

/**
 * Calls kept back, so that seeing whether the quota begins anew need not mean being refused. Every look is a
 * real call, so that the reserve costs nothing while it is spent on looking.
 */
export function reserveOf({ source, limit, window }: Quota): number {
  if (source !== 'header' || limit === null) return 0;
  if (!isSure(window)) return mostLooks(limit);
  const toFindTheMoment = Math.min(4, Math.max(1, Math.ceil(0.005 * limit)));
  return toFindTheMoment + Math.min(Math.floor(periodOf(window).most / MOST_GAP_MS), Math.floor(0.1 * limit));
}

/**
 * When to look next: by the trickle, by the period, or else the less often the longer nothing came; and at least
 * every few days, since a larger quota may have been bought.
 */
export function nextLook(quota: Quota): number {
  const looked = Math.max(quota.asOfAt, quota.lookedAt);
  const pace = driftPace(quota);
  if (pace > 0) return looked + Math.max(100, (reserveOf(quota) + 1 - (quota.level ?? 0)) / pace);
  return Math.min(looked + longestGap(quota), byPeriod(quota, looked));
}

/** A larger quota may have been bought; where only a refusal would tell, that is worth asking less often. */
function longestGap(quota: Quota): number {
  if (!isFree(quota)) return MOST_GAP_MS;
  return Math.min(MOST_GAP_MS, Math.max(DAY_MS, 0.1 * periodOf(quota.window).most));
}

function byPeriod(quota: Quota, looked: number): number {
  const expected = expectedResets(quota.window, !isFree(quota)).find(({ beforeAt }) => beforeAt > looked);
  const patient = Math.max(patiently(quota, looked), earliestReset(quota.window));
  if (!expected) return isSure(quota.window) ? Math.min(patient, overdue(quota, looked)) : patient;
  const look = within(expected, quota, looked);
  return isSure(quota.window) || !isFree(quota) ? look : Math.min(patient, look);
}

/** The moments between which a reset is expected are searched from the first to the last. */
function within({ afterAt, beforeAt }: Bracket, quota: Quota, looked: number): number {
  const width = beforeAt - afterAt;
  const { least } = periodOf(quota.window);
  if (width <= Math.max(SHORTEST_GAP_MS / 2, 0.01 * least)) return beforeAt;
  // A refusal for each period that may be is enough.
  const away = afterAt - (quota.window.last?.afterAt ?? 0);
  if (!isFree(quota) && !isSure(quota.window) && width <= 0.25 * away) return beforeAt;
  return Math.min(beforeAt, Math.max(afterAt, looked) + width * (isFree(quota) ? 0.25 : isSure(quota.window) ? 0.5 : 0.4));
}

/** A period that begins with its first call is over a little later than expected. */
function overdue({ window }: Quota, looked: number): number {
  const [expected] = expectedResets(window);
  return looked + Math.max(SHORTEST_GAP_MS, expected ? looked - expected.beforeAt : 0);
}

/** Nothing is known of the period: at the usual ones since the pool was first used, and in between. */
function patiently(quota: Quota, looked: number): number {
  const still = looked - quota.surgedAt;
  const gap = Math.max(SHORTEST_GAP_MS, still * (isFree(quota) ? 0.35 : 5));
  const soon = looked + Math.max(SHORTEST_GAP_MS, still * (isFree(quota) ? 0.05 : 0.35));
  const usual =
    usualTimes(quota.window.quietSinceAt, !isFree(quota)).find((time) => time >= soon) ?? Number.POSITIVE_INFINITY;
  return Math.min(looked + gap, usual);
}

/** A look from the reserve costs nothing, one that is refused does. */
function isFree({ source, level }: Quota): boolean {
  return source === 'header' && (level ?? 0) > 0;
}
