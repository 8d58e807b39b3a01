/** What may be spent, as far as it is known: nothing is made of a guess. */

import { type Budget, DAY_MS } from './arithmetic.ts';
import type { QuotaStatus } from './limits.ts';

const HOUR_MS = 3_600_000;

/** The budget, or why none can be told. */
export function budgetOf(quota: QuotaStatus, now: number): Budget | { unknown: string } {
  const { limit, remaining, reserve, refill, othersPerHour } = quota;
  if (remaining === null || limit === null) return { unknown: 'the API has not reported any quota yet' };
  const left = Math.max(0, remaining - reserve);
  if (refill.kind === 'trickle') return trickle(left, (refill.perHour ?? 0) * 24);
  const known = refill.confidence === 'sure' || refill.confidence === 'likely';
  if (refill.nextBy === null || !refill.periodSeconds || !known)
    return { unknown: `when more calls come is not known: ${refill.evidence}` };
  const periodMs = refill.periodSeconds * 1_000;
  const nextInMs = Math.max(0, Date.parse(refill.nextBy) - now);
  const without = (calls: number, ms: number) =>
    Math.max(0, calls - reserve - (othersPerHour * ms) / HOUR_MS);
  const hasBegunAnew = Date.parse(quota.asOf ?? '') < now + nextInMs - periodMs;
  return {
    remaining: without(hasBegunAnew ? limit : remaining, nextInMs),
    nextInMs,
    perPeriod: without(limit, periodMs),
    periodMs,
  };
}

/** Over a day, calls that come back one by one are as good as there from the beginning. */
function trickle(left: number, perDay: number): Budget {
  return { remaining: left + perDay, nextInMs: DAY_MS, perPeriod: perDay, periodMs: DAY_MS };
}
