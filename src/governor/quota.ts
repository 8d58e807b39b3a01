/** What is left of the account's pool of calls, as the API tells it or as it was counted. */

import { isApart, type Membership, noteFall } from './membership.ts';
import { initialWindow, reset, type Window, withoutMoments } from './window.ts';

export type Quota = {
  /** Calls in a full pool, as the API says or as were counted. */
  limit: number | null;
  /** Calls left by the latest header, or by count, less those answered since; null while nothing is known. */
  level: number | null;
  source: 'header' | 'count' | null;
  /** Refusals that came at the counted limit, one after another: two make it believed. */
  confirmed: number;
  /** When `level` was last seen rather than reckoned. */
  asOfAt: number;
  /** What the latest header left, whether nothing was under way then, and what was answered without one since. */
  reported: { remaining: number; alone: boolean; since: Record<string, number> } | null;
  /** What changed beside our calls: more is refill, less is other consumers. */
  drift: { sinceAt: number; calls: number };
  /** When the pool was last seen to rise, or first used. */
  risenAt: number;
  /** When it last rose by several calls at once. */
  surgedAt: number;
  /** When a call was last let through at or below the reserve. */
  probedAt: number;
  /** A quota probe is due then, whatever is expected; null where there is no such reason. */
  dueAt: number | null;
  /** Calls answered since the pool reset, or was first used. */
  spent: number;
  members: Membership;
  window: Window;
};

/** What happened beside our calls is forgotten by half after so long: others come and go. */
const DRIFT_MEMORY_MS = 20 * 60_000;
/** Fewer calls, or less time, may be chance: as many calls as may be under way with five jobs, and one. */
const LEAST_DRIFT = 6;
const LEAST_DRIFT_MS = 1_000;
/** A pool that rises after it stood still for this long, and for half the time since it last reset, resets. */
const LEAST_STILL_MS = 3_000;
/** More than so many calls that come at once are not our own probes of a period ago. */
const SURGE = 20;
/** A counted limit is believed for so many periods before it is put to the test again. */
const TRUST = 8;

export function initialQuota(): Quota {
  return {
    limit: null,
    level: null,
    source: null,
    confirmed: 0,
    asOfAt: 0,
    reported: null,
    drift: { sinceAt: 0, calls: 0 },
    risenAt: 0,
    surgedAt: 0,
    probedAt: 0,
    dueAt: null,
    spent: 0,
    members: {},
    window: initialWindow(0),
  };
}

/** A call was answered, or given up for lost, without a word about the quota. */
export function spend(quota: Quota, job: string, now: number): Quota {
  if (isApart(quota.members, job)) return quota;
  if (quota.level === 0) return refilled(quota, now);
  const { reported } = quota;
  return {
    ...(quota.risenAt === 0 ? begin(quota, now) : quota),
    reported: reported && {
      ...reported,
      since: { ...reported.since, [job]: (reported.since[job] ?? 0) + 1 },
    },
    level: quota.level && quota.level - 1,
    asOfAt: quota.source === 'count' ? now : quota.asOfAt,
    dueAt: null,
    spent: quota.spent + 1,
  };
}

/** The clock was set. What was reported or counted stays; what was reckoned from one moment to another does not. */
export function forgetMoments(quota: Quota, now: number): Quota {
  if (quota.risenAt === 0) return quota;
  const begun = { ...quota, reported: null, drift: { sinceAt: now, calls: 0 }, risenAt: now, surgedAt: now };
  return { ...begun, asOfAt: Math.min(quota.asOfAt, now), window: withoutMoments(quota.window, now) };
}

/** Calls that nobody answered for count as made. */
export function writeOff(quota: Quota, calls: number): Quota {
  return { ...quota, level: quota.level && Math.max(0, quota.level - calls), spent: quota.spent + calls };
}

/**
 * A call was answered, with `remaining` of `limit` left after it. `others`: calls of ours still unanswered,
 * which the API may or may not have counted already.
 */
export function observe(quota: Quota, limit: number, remaining: number, others: number, now: number): Quota {
  const reported = { remaining, alone: others === 0, since: {} };
  const spent = quota.spent + 1;
  const seen: Quota = {
    ...quota,
    limit,
    level: remaining,
    source: 'header',
    asOfAt: now,
    reported,
    spent,
    dueAt: null,
  };
  if (!quota.reported || quota.level === null) return begin(seen, now);

  // What was reported against the latest report, and against what we reckoned with our own calls taken off.
  const rise = remaining - (quota.reported.remaining - 1);
  const change = remaining - (quota.level - 1);
  const trickle = Math.max(0, driftPace(quota)) * (now - quota.asOfAt);
  const half = 0.5 * (limit - remaining + change);
  if (rise > 2 * others + 3 * trickle && change >= Math.max(3, half))
    return afterReset(seen, quota.asOfAt, now);

  const still = now - quota.surgedAt;
  // In a sliding window our own probes come back as well, one by one.
  const surges = rise > Math.max(Math.min(SURGE, mostProbes(limit)), 2 * others) + 3 * trickle;
  const onset = surges && still >= Math.max(LEAST_STILL_MS, 0.5 * (now - quota.window.quietSinceAt));
  const full = remaining >= limit - 1 - others;
  const settled = reported.alone && quota.reported.alone && rise <= 0 && quota.drift.calls <= 0;
  return {
    ...seen,
    members: settled ? noteFall(quota.members, quota.reported.since, -rise) : quota.members,
    drift: full || (change > 0 && rise <= 0) ? quota.drift : drifted(quota.drift, change, now),
    risenAt: rise > others ? now : quota.risenAt,
    // While it is full nobody can say whether it reset.
    surgedAt: surges || full ? now : quota.surgedAt,
    window: onset
      ? reset(quota.window, { afterAt: quota.asOfAt, beforeAt: now })
      : full
        ? { ...quota.window, quietSinceAt: now }
        : quota.window,
  };
}

/**
 * The API refuses calls for want of quota since `sinceAt`, `again` where it was still the same want. The pool was in
 * full use since `usedAt` at the earliest.
 */
export function exhausted(
  quota: Quota,
  { again, sinceAt, usedAt }: { again: boolean; sinceAt: number; usedAt: number },
  now: number,
): Quota {
  const used = quota.risenAt === 0 ? begin(quota, sinceAt) : quota;
  const empty = { ...used, level: 0, asOfAt: now, dueAt: null };
  if (again || quota.source === 'header') return empty;
  const limit = Math.max(1, quota.spent);
  const same = quota.limit !== null && Math.abs(limit - quota.limit) <= Math.max(1, 0.02 * limit);
  // Whether it reset while it was used went unseen.
  const window = { ...quota.window, quietSinceAt: sinceAt };
  const surgedAt = Math.max(empty.surgedAt, usedAt);
  return { ...empty, limit, window, surgedAt, source: 'count', confirmed: same ? quota.confirmed + 1 : 0 };
}

/** Whether a refusal now would come about where the last ones did, as far as was counted. */
export function atCountedLimit({ source, limit, spent }: Quota): boolean {
  return source === 'count' && limit !== null && spent >= 0.9 * limit;
}

function begin(quota: Quota, now: number): Quota {
  const drift = { sinceAt: now, calls: 0 };
  return {
    ...quota,
    asOfAt: now,
    drift,
    risenAt: now,
    surgedAt: now,
    window: { ...quota.window, quietSinceAt: now },
  };
}

function afterReset(quota: Quota, afterAt: number, now: number): Quota {
  const window = reset(quota.window, { afterAt, beforeAt: now });
  return { ...begin(quota, now), spent: 1, window };
}

/** A call was accepted where none was left. A counted limit is trusted once confirmed, and tested at times. */
function refilled(quota: Quota, now: number): Quota {
  const trusted = quota.source === 'header' || (quota.confirmed > 0 && quota.confirmed % TRUST !== 0);
  const level = trusted ? Math.max(0, (quota.limit ?? 1) - 1) : null;
  return {
    ...afterReset(quota, quota.asOfAt, now),
    level,
    confirmed: trusted ? quota.confirmed + 1 : quota.confirmed,
  };
}

/** So many calls may go at most to see whether more came, while that is not known. */
export function mostProbes(limit: number): number {
  const few = Math.max(Math.min(8, Math.ceil(0.1 * limit)), Math.ceil(0.03 * limit));
  return Math.min(few, Math.max(24, Math.min(60, Math.ceil(0.005 * limit))));
}

function drifted({ sinceAt, calls }: Quota['drift'], change: number, now: number): Quota['drift'] {
  const age = now - sinceAt;
  return age > DRIFT_MEMORY_MS
    ? { sinceAt: now - age / 2, calls: calls / 2 + change }
    : { sinceAt, calls: calls + change };
}

/** How the pool changes beside our calls, in calls a millisecond; 0 while that may be chance. */
export function driftPace({ drift, asOfAt, risenAt }: Quota): number {
  const elapsed = asOfAt - drift.sinceAt;
  if (Math.abs(drift.calls) < LEAST_DRIFT || elapsed < LEAST_DRIFT_MS) return 0;
  const pace = drift.calls / elapsed;
  // Where several calls should have come and none did, it is not a trickle.
  return pace > 0 && asOfAt - risenAt > 3 / pace ? 0 : pace;
}

/** What is left now as far as can be told; null where nothing is known. */
export function levelAt(quota: Quota, now: number): number | null {
  if (quota.level === null) return null;
  const level = quota.level + driftPace(quota) * (now - quota.asOfAt);
  return Math.max(0, Math.min(quota.limit ?? Number.POSITIVE_INFINITY, level));
}
