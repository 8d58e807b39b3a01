/** The limits of the account in words, for the status and the plan. */

import { duration, number, relative } from '../output/text.ts';
import type { LimitsJson, QuotaJson } from '../plan/json.ts';
import { printable } from '../printable.ts';

/** `at`: when they were read. */
type Known = Pick<LimitsJson, 'quota' | 'waits'> & { at: string };

export function renderAccount({ account, at }: Pick<LimitsJson, 'account'> & { at: string }): string[] {
  if (!account) return [];
  const { name, processes, asOf } = account;
  const by = `${number(processes)} ${processes === 1 ? 'process' : 'processes'}`;
  return [
    `Account: the limits are those of ${printable(name)}, shared by ${by}, as of ${relative(asOf, Date.parse(at))}`,
  ];
}

export function renderQuota({ quota, at }: Pick<Known, 'quota' | 'at'>): string {
  const now = Date.parse(at);
  if (quota.remaining === null) return 'Quota: the API has not reported any yet';
  const of = quota.limit === null ? '' : ` of ${number(quota.limit)}`;
  const others = quota.othersPerHour > 0 ? `; others take about ${number(quota.othersPerHour)} an hour` : '';
  const kept = quota.reserve > 0 ? `, ${number(quota.reserve)} of them kept back` : '';
  return `Quota: ${number(quota.remaining)}${of} calls left${kept}, as of ${relative(quota.asOf, now)}; ${renderRefill(quota, now)}${others}`;
}

function renderRefill({ refill }: QuotaJson, now: number): string {
  const sureness = ` (${refill.confidence}: ${refill.evidence})`;
  if (refill.nextBy !== null)
    return `resets ${relative(refill.nextBy, now)} at the latest, every ${duration((refill.periodSeconds ?? 0) * 1_000)}${sureness}`;
  if (refill.perHour !== null) return `${number(refill.perHour)} an hour come back${sureness}`;
  return `reset time not known yet (${refill.evidence})`;
}

export function renderWaits({ waits, at }: Pick<Known, 'waits' | 'at'>): string[] {
  return (waits ?? []).map(
    ({ job, until, reason, why }) =>
      `Waiting: ${job ?? 'all calls'}, ${relative(until, Date.parse(at))} (${reason}): ${printable(why)}`,
  );
}
