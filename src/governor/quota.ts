/** The account's pool of calls, as the API reports it or as it was counted. */

import { MINUTE_MS } from '../clock.ts';
import { afterJump, initialWindow, reset, type Window } from './quota-period.ts';

export type Quota = {
  /** Calls in a full pool, as the API says or as were counted. */
  limit: number | null;
  /** Calls left by the latest header, or by count, less those answered since; null while nothing is known. */
  level: number | null;
  source: 'header' | 'count' | null;
  /** Refusals in a row at the counted limit: two confirm it. */
  confirmed: number;
  /** When `level` was last seen rather than computed. */
  asOfAt: number;
  /** Calls that were taken off `level` since, though the API may not have counted them. */
  uncertain: number;
  /** What the latest header left, whether nothing was in flight then, and what was accepted without a header since, by job. */
  reported: { remaining: number; alone: boolean; since: Record<string, number> } | null;
  /** Changes that our calls do not explain: a rise is refill, a fall is other users' calls. */
  unexplained: { sinceAt: number; calls: number };
  /** When the pool was last seen to rise, or first used; 0 before that. */
  risenAt: number;
  /** When it last rose by several calls at once. */
  surgedAt: number;
  /** When a request was last let through at or below the reserve. */
  probedAt: number;
  /** A quota probe is due then, whatever is expected; null where there is no such reason. */
  probeDueAt: number | null;
  /** Calls since the pool reset, or was first used. */
  spent: number;
  /** Responses so far; and how many there were when the pool was last seen to reset or to be empty, or a pause began. */
  responses: number;
  eraStart: number;
  /** How often the calls of an endpoint without the header showed in the next header, and how often they did not. */
  members: Record<string, { shared: number; apart: number }>;
  window: Window;
};

/** Unexplained changes fade by half after so long: other users come and go. */
const UNEXPLAINED_MEMORY_MS = 20 * MINUTE_MS;
/** Fewer calls, or less time, may be chance: as many calls as may be in flight with five jobs, and one. */
const LEAST_UNEXPLAINED = 6;
const LEAST_UNEXPLAINED_MS = 1_000;
/** A pool that rises after it stood still for this long, and for half the time since it last reset, resets. */
const LEAST_STILL_MS = 3_000;
/** More calls than these that come back at once are not our own probes of a period ago. */
const MAX_PROBES_BACK = 20;
/** A counted limit is believed for so many periods before it is put to the test again. */
const PERIODS_OF_TRUST = 8;
/** An endpoint counts as one of the pool until it was seen apart this often, and hardly ever otherwise. */
const TIMES_SEEN_APART = 3;

export function initialQuota(): Quota {
  return {
    limit: null,
    level: null,
    source: null,
    confirmed: 0,
    asOfAt: 0,
    uncertain: 0,
    reported: null,
    unexplained: { sinceAt: 0, calls: 0 },
    risenAt: 0,
    surgedAt: 0,
    probedAt: 0,
    probeDueAt: null,
    spent: 0,
    responses: 0,
    eraStart: 0,
    members: {},
    window: initialWindow(0),
  };
}

/** The calls left now, as far as is known; else null. */
export function levelAt(quota: Quota, now: number): number | null {
  if (quota.level === null) return null;
  const level = quota.level + unexplainedRate(quota) * (now - quota.asOfAt);
  return Math.max(0, Math.min(quota.limit ?? Number.POSITIVE_INFINITY, level));
}

/** How the pool changes beside our calls, in calls a millisecond; 0 while that may be chance. */
export function unexplainedRate({ unexplained, asOfAt, risenAt }: Quota): number {
  const { sinceAt, calls } = unexplained;
  const elapsed = asOfAt - sinceAt;
  if (Math.abs(calls) < LEAST_UNEXPLAINED || elapsed < LEAST_UNEXPLAINED_MS) return 0;
  const rate = calls / elapsed;
  // Where three calls should have come back and none did, it is not a trickle.
  return rate > 0 && asOfAt - risenAt > 3 / rate ? 0 : rate;
}

/** Whether the endpoint does not draw on this pool. */
export function isApart({ members }: Quota, job: string): boolean {
  const seen = members[job];
  return seen !== undefined && seen.apart >= TIMES_SEEN_APART && seen.apart > TIMES_SEEN_APART * seen.shared;
}

/**
 * So many calls are kept to see whether more came, while the period is not known. The usual periods of a day take about
 * twenty probes: a small pool spares a tenth of it and 8 at most, a larger one 3 % and 24, a huge one 0.5 % and 60.
 */
export function mostProbes(limit: number): number {
  const few = Math.max(Math.min(8, Math.ceil(0.1 * limit)), Math.ceil(0.03 * limit));
  return Math.min(few, Math.max(24, Math.min(60, Math.ceil(0.005 * limit))));
}

/** Whether a refusal now comes where the last ones did, within a tenth: calls of others count there, and not here. */
export function atCountedLimit({ source, limit, spent }: Quota): boolean {
  return source === 'count' && limit !== null && spent >= 0.9 * limit;
}

/** Counts a response or loss; what it says is observed apart. */
export function countResponse(quota: Quota, job: string): void {
  if (!isApart(quota, job)) quota.responses += 1;
}

/** From here on the pool is another one: responses to earlier requests speak of the last one. */
export function startEra(quota: Quota): void {
  quota.eraStart = quota.responses;
}

/** A request, sent after `responsesBefore` responses, was accepted without a word about the quota. */
export function spend(quota: Quota, job: string, responsesBefore: number, now: number): void {
  if (isApart(quota, job)) return;
  if (responsesBefore < quota.eraStart) {
    countMade(quota, 1);
    return;
  }
  if (quota.level === 0) {
    if (quota.uncertain === 0) {
      refilled(quota, now);
      return;
    }
    // The pool was not known to be empty, so this shows no reset.
    quota.level = quota.uncertain;
    quota.uncertain = 0;
  }
  if (quota.risenAt === 0) begin(quota, now);
  if (quota.reported) quota.reported.since[job] = (quota.reported.since[job] ?? 0) + 1;
  take(quota, 1);
  if (quota.source === 'count') quota.asOfAt = now;
  quota.probeDueAt = null;
  quota.spent += 1;
}

/** Requests that no response accounts for count as made, though the API may not have counted them. */
export function writeOff(quota: Quota, calls: number): void {
  quota.uncertain += Math.min(calls, quota.level ?? 0);
  countMade(quota, calls);
}

function countMade(quota: Quota, calls: number): void {
  take(quota, calls);
  quota.spent += calls;
  // Nobody knows whether the next header counts them.
  if (quota.reported) quota.reported.alone = false;
}

function take(quota: Quota, calls: number): void {
  if (quota.level === null) return;
  quota.level = Math.max(0, quota.level - calls);
  if (quota.level === 0) startEra(quota);
}

/** What a header says: `remaining` of `limit` were left after a request that was sent after `responsesBefore` responses. */
export type QuotaReport = { limit: number; remaining: number; responsesBefore: number };

/** A response said what was left. `unanswered`: our other requests, which the API may or may not have counted already. */
export function observe(quota: Quota, report: QuotaReport, unanswered: number, now: number): void {
  const { limit, remaining, responsesBefore } = report;
  const { reported, level, asOfAt, window } = quota;
  if (reported && responsesBefore < quota.eraStart) {
    countMade(quota, 1);
    return;
  }
  // Requests answered while this one was in flight may have been counted after it.
  const others = unanswered + Math.max(0, quota.responses - 1 - responsesBefore);
  const trickle = Math.max(0, unexplainedRate(quota)) * (now - asOfAt);
  quota.limit = limit;
  setLevel(quota, remaining);
  quota.source = 'header';
  quota.asOfAt = now;
  quota.reported = { remaining, alone: unanswered === 0, since: {} };
  quota.spent += 1;
  quota.probeDueAt = null;
  if (remaining === 0) startEra(quota);
  if (!reported || level === null) {
    begin(quota, now);
    return;
  }
  // What was reported against the latest report, and against what we reckoned with our own calls taken off.
  const rise = remaining - (reported.remaining - 1);
  const change = remaining - (level - 1);
  // At least half of what was used came back, and more than requests in flight or a trickle explain.
  if (rise > 2 * others + 3 * trickle && change >= Math.max(3, 0.5 * (limit - remaining + change))) {
    hasReset(quota, asOfAt, now);
    return;
  }
  const isFull = remaining >= limit - 1 - others;
  if (reported.alone && unanswered === 0 && quota.unexplained.calls <= 0)
    noteFall(quota, reported.since, -rise);
  if (!isFull && (change <= 0 || rise > 0)) noteUnexplained(quota, change, now);
  if (rise > others) quota.risenAt = now;
  // In a sliding window our own probes come back as well, one by one.
  const surges = rise > Math.max(Math.min(MAX_PROBES_BACK, mostProbes(limit)), 2 * others) + 3 * trickle;
  const stillMs = now - quota.surgedAt;
  if (surges && stillMs >= Math.max(LEAST_STILL_MS, 0.5 * (now - window.quietSinceAt)))
    quota.window = reset(window, { afterAt: asOfAt, beforeAt: now });
  else if (isFull) window.quietSinceAt = now;
  // A full pool does not show whether it reset.
  if (surges || isFull) quota.surgedAt = now;
}

/** The level was seen, or nothing is known of it any longer (null). */
function setLevel(quota: Quota, level: number | null): void {
  quota.level = level;
  quota.uncertain = 0;
}

/**
 * The API refuses calls for want of quota since `sinceAt`, `again` where it was still the same want. The pool was in
 * full use since `usedAt` at the earliest.
 */
export function exhausted(
  quota: Quota,
  { again, sinceAt, usedAt }: { again: boolean; sinceAt: number; usedAt: number },
  now: number,
): void {
  if (quota.risenAt === 0) begin(quota, sinceAt);
  setLevel(quota, 0);
  quota.asOfAt = now;
  quota.probeDueAt = null;
  if (again || quota.source === 'header') return;
  const limit = Math.max(1, quota.spent);
  // Two counts agree where they differ by 2 %: requests in flight may be counted or not.
  const isSame = quota.limit !== null && Math.abs(limit - quota.limit) <= Math.max(1, 0.02 * limit);
  quota.limit = limit;
  quota.source = 'count';
  quota.confirmed = isSame ? quota.confirmed + 1 : 0;
  // It may have reset unseen while it was used.
  quota.window.quietSinceAt = sinceAt;
  quota.surgedAt = Math.max(quota.surgedAt, usedAt);
}

/** The clock was set: reported and counted calls stay, measurements over time do not. */
export function forgetMoments(quota: Quota, now: number): void {
  if (quota.risenAt === 0) return;
  begin(quota, now);
  quota.reported = null;
  quota.asOfAt = Math.min(quota.asOfAt, now);
  quota.window = afterJump(quota.window, now);
}

function begin(quota: Quota, now: number): void {
  quota.unexplained = { sinceAt: now, calls: 0 };
  quota.risenAt = now;
  quota.surgedAt = now;
  quota.window.quietSinceAt = now;
}

function hasReset(quota: Quota, afterAt: number, now: number): void {
  quota.window = reset(quota.window, { afterAt, beforeAt: now });
  begin(quota, now);
  startEra(quota);
  quota.spent = 1;
}

/** A request was accepted where none was left. A counted limit is trusted once confirmed, and tested at times. */
function refilled(quota: Quota, now: number): void {
  const isTrusted =
    quota.source === 'header' || (quota.confirmed > 0 && quota.confirmed % PERIODS_OF_TRUST !== 0);
  hasReset(quota, quota.asOfAt, now);
  quota.asOfAt = now;
  setLevel(quota, isTrusted ? Math.max(0, (quota.limit ?? 1) - 1) : null);
  // Compared with the last header, the next one would show this reset again.
  if (quota.reported && quota.level !== null)
    quota.reported = { remaining: quota.level, alone: false, since: {} };
  if (isTrusted) quota.confirmed += 1;
}

/** Between two headers the pool fell by `fall` beside them, while `calls` of other endpoints were accepted. */
function noteFall({ members }: Quota, calls: Record<string, number>, fall: number): void {
  const total = Object.values(calls).reduce((sum, times) => sum + times, 0);
  // The fall may count none of them, all of them, or some; and where more came back, it tells of none.
  const membership = fall === 0 ? 'apart' : fall >= total ? 'shared' : null;
  if (!membership) return;
  for (const job of Object.keys(calls)) {
    members[job] ??= { shared: 0, apart: 0 };
    members[job][membership] += 1;
  }
}

function noteUnexplained({ unexplained }: Quota, change: number, now: number): void {
  const age = now - unexplained.sinceAt;
  if (age > UNEXPLAINED_MEMORY_MS) {
    unexplained.sinceAt = now - age / 2;
    unexplained.calls /= 2;
  }
  unexplained.calls += change;
}
