/**
 * How many requests may be sent before their turn. A prefetch counts as wasted when its budget is given, and is refunded when it was
 * needed or not sent: so a crash forgets no waste.
 */

import { DAY_MS } from '../clock.ts';
import { allowedPrefetchInFlight } from './concurrency.ts';
import { isApart, levelAt, type Quota } from './quota.ts';
import { nextReset } from './quota-period.ts';
import { reserveOf } from './quota-probe.ts';
import type { EventOf, PrefetchAccount, State } from './state.ts';

/** The part of a day's requests that may be wasted. */
const MAX_WASTED_PART = 0.01;
/** The part of the pool that must be left beside all that is expected. */
const SPARE_PART = 0.25;

export function countRequest(prefetch: PrefetchAccount, now: number): void {
  fade(prefetch, now);
  prefetch.requests += 1;
}

/**
 * How many requests of the job may be prefetched at once; none unless all is well and calls are ample. Once a walk goes
 * on by prefetches, all its requests in flight are such: only a response tells whether the one whose turn has come was needed.
 * @param othersInFlight requests that other processes may have in flight.
 * @param unanswered requests of any process that may be sent or answered at any moment.
 */
export function allowedPrefetches(
  state: State,
  { job, upcoming = 0 }: EventOf<'ask'>,
  othersInFlight: number,
  unanswered: number,
  now: number,
): number {
  const { pause, keyRefused, jobs, concurrency } = state;
  const { outage, forbidden } = jobs[job] ?? {};
  if (upcoming < 1 || pause || keyRefused || outage || forbidden) return 0;
  if (!isAmple(state, job, upcoming + unanswered, now)) return 0;
  return Math.max(0, Math.min(upcoming, allowedPrefetchInFlight(concurrency) - othersInFlight));
}

/**
 * Whether the pool covers the expected requests, the usual ones until the quota resets, and some to spare. A quota that no
 * header tells of counts as ample until a request is refused for want of it.
 */
function isAmple({ quota, prefetch }: State, job: string, expected: number, now: number): boolean {
  if (quota.source === 'count') return false;
  const level = levelAt(quota, now);
  if (level === null || isApart(quota, job)) return true;
  const usual = (prefetch.requests / DAY_MS) * untilReset(quota, now);
  const spare = SPARE_PART * (quota.limit ?? 0);
  return level >= expected + usual + reserveOf(quota) + spare;
}

/** Milliseconds; a day where the period is not known. */
function untilReset({ window }: Quota, now: number): number {
  const next = nextReset(window, now);
  return next === null ? DAY_MS : next - now;
}

/**
 * Gives as much budget as is wanted and may be wasted. A new mirror's allowance is for its first hundred requests: it counts where a
 * header tells that so many are left.
 */
export function spendBudget({ prefetch, quota }: State, wanted: number, now: number): number {
  fade(prefetch, now);
  const isTold = (levelAt(quota, now) ?? 0) >= 1 / MAX_WASTED_PART;
  const allowance = isTold ? Math.round(prefetch.allowance) : 0;
  const affordable = Math.max(allowance, MAX_WASTED_PART * prefetch.requests) - prefetch.wasted;
  const given = Math.max(0, Math.floor(Math.min(wanted, affordable)));
  prefetch.wasted += given;
  return given;
}

/** Whether prefetches are in flight, as far as the account shows: what was wasted lately looks the same. */
export function mayBeInFlight({ wasted }: PrefetchAccount): boolean {
  return Math.round(wasted) > 0;
}

/** Prefetches proved needed, or were never sent. */
export function refundBudget(prefetch: PrefetchAccount, prefetches: number, now: number): void {
  fade(prefetch, now);
  prefetch.wasted = Math.max(0, prefetch.wasted - prefetches);
}

function fade(prefetch: PrefetchAccount, now: number): void {
  const part = Math.exp(-Math.max(0, now - (prefetch.asOfAt ?? now)) / DAY_MS);
  prefetch.requests *= part;
  prefetch.wasted *= part;
  prefetch.allowance *= part;
  prefetch.asOfAt = now;
}
