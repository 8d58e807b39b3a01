/** What is left of the account's pool of calls, and when more comes. */

import { type Bracket, initialWindow, nextReset, periodOf, reset, type Window } from './window.ts';

export type Quota = {
  /** Calls in a full pool, as the API says or as were counted. */
  limit: number | null;
  /** Calls left by the latest header, or by count, less those answered since; null while nothing is known. */
  level: number | null;
  source: 'header' | 'count' | null;
  /** When `level` was last seen rather than reckoned. */
  asOfAt: number;
  /** What changed beside our calls: more is refill, less is other consumers. */
  drift: { sinceAt: number; calls: number };
  /** When the pool was last seen to rise, or first seen. */
  risenAt: number;
  /** When a call was last let through at or below the reserve. */
  probedAt: number;
  /** Calls accepted since the pool was last seen empty or full. */
  spent: number;
  window: Window;
};

const DRIFT_MEMORY_MS = 20 * 60_000;
const SHORTEST_GAP_MS = 1_000;

export function initialQuota(): Quota {
  return {
    limit: null,
    level: null,
    source: null,
    asOfAt: 0,
    drift: { sinceAt: 0, calls: 0 },
    risenAt: 0,
    probedAt: 0,
    spent: 0,
    window: initialWindow(0),
  };
}

/** A call was answered without a word about the quota. */
export function spend(quota: Quota, calls: number): Quota {
  const level = quota.level === null ? null : Math.max(0, quota.level - calls);
  return { ...quota, level, spent: quota.spent + calls };
}

/**
 * A call was answered, with `remaining` of `limit` left after it. `others`: calls of ours still unanswered,
 * which the API may or may not have counted already.
 */
export function observe(quota: Quota, limit: number, remaining: number, others: number, now: number): Quota {
  const seen = {
    ...quota,
    limit,
    level: remaining,
    source: 'header' as const,
    asOfAt: now,
    spent: quota.spent + 1,
  };
  if (quota.level === null || quota.source !== 'header')
    return {
      ...seen,
      drift: { sinceAt: now, calls: 0 },
      risenAt: now,
      window: { ...quota.window, quietSinceAt: now },
    };
  const expected = quota.level - 1;
  const change = remaining - expected;
  const missing = limit - expected;
  const explained = 2 * others + 3 * Math.max(0, driftPace(quota)) * (now - quota.asOfAt);
  if (change > explained && change >= Math.max(3, 0.5 * missing)) return begunAnew(seen, quota.asOfAt, now);
  return {
    ...seen,
    drift: remaining >= limit - 1 - others ? quota.drift : drifted(quota, change, now),
    risenAt: change > others ? now : quota.risenAt,
  };
}

/** The API refused a call for want of quota. */
export function exhausted(quota: Quota, now: number): Quota {
  const counted = quota.source === 'header' ? quota.limit : Math.max(1, quota.spent);
  return {
    ...quota,
    limit: quota.level !== null && quota.level <= 0 ? quota.limit : counted,
    source: quota.source ?? 'count',
    level: 0,
    asOfAt: now,
    risenAt: quota.level === null ? now : quota.risenAt,
  };
}

/** A call was accepted where none was left. */
export function refilled(quota: Quota, now: number): Quota {
  return begunAnew({ ...quota, level: Math.max(0, (quota.limit ?? 1) - 1), asOfAt: now }, quota.asOfAt, now);
}

function begunAnew(quota: Quota, afterAt: number, now: number): Quota {
  const bracket: Bracket = { afterAt, beforeAt: now };
  return {
    ...quota,
    spent: 1,
    drift: { sinceAt: now, calls: 0 },
    risenAt: now,
    window: reset(quota.window, bracket),
  };
}

function drifted(quota: Quota, change: number, now: number): Quota['drift'] {
  const { sinceAt, calls } = quota.drift;
  const age = now - sinceAt;
  return age > DRIFT_MEMORY_MS
    ? { sinceAt: now - age / 2, calls: calls / 2 + change }
    : { sinceAt, calls: calls + change };
}

/** How the pool changes beside our calls, in calls a millisecond; 0 while that may be chance. */
export function driftPace({ drift, asOfAt }: Quota): number {
  const elapsed = asOfAt - drift.sinceAt;
  return Math.abs(drift.calls) < 6 || elapsed < SHORTEST_GAP_MS ? 0 : drift.calls / elapsed;
}

/**
 * Calls kept back, so that seeing whether the quota begins anew need not mean being refused. Every look is a
 * real call, so that the reserve costs nothing while it is spent on looking.
 */
export function reserveOf(quota: Quota): number {
  if (quota.source !== 'header' || quota.limit === null) return 0;
  const learnt = quota.window.periods > 0 && periodOf(quota.window).sure;
  if (learnt) return Math.min(4, Math.max(1, Math.ceil(0.005 * quota.limit)));
  return Math.min(24, Math.max(Math.min(8, Math.ceil(0.1 * quota.limit)), Math.ceil(0.02 * quota.limit)));
}

/** What is left now as far as can be told; null where nothing is known. */
export function levelAt(quota: Quota, now: number): number | null {
  if (quota.level === null) return null;
  const level = quota.level + driftPace(quota) * (now - quota.asOfAt);
  return Math.max(0, Math.min(quota.limit ?? Number.POSITIVE_INFINITY, level));
}

/** When a pool at its reserve is worth one call to see whether more came. */
export function nextLook(quota: Quota): number {
  const looked = Math.max(quota.asOfAt, quota.probedAt);
  const expected = nextReset(quota.window, looked);
  const pace = driftPace(quota);
  const patient = looked + Math.max(SHORTEST_GAP_MS, gapShare(quota) * (looked - quota.risenAt));
  if (pace > 0) return Math.max(patient, looked + (reserveOf(quota) + 1 - (quota.level ?? 0)) / pace);
  if (!expected || expected.beforeAt <= looked) return patient;
  const width = expected.beforeAt - expected.afterAt;
  const narrow = Math.max(SHORTEST_GAP_MS / 2, 0.01 * periodOf(quota.window).least);
  if (width <= narrow) return expected.beforeAt;
  const step = width / (quota.source === 'header' ? 4 : 2);
  return Math.min(expected.beforeAt, Math.max(expected.afterAt, looked) + step);
}

/** The longer a pool stayed empty, the less often it is worth a look; a refusal costs more than a reserve. */
function gapShare(quota: Quota): number {
  return quota.source === 'header' && (quota.level ?? 0) > 0 ? 0.3 : 0.5;
}
