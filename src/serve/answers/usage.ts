/** The use of the service by one account: the body of `GET /api/v1/usage`. docs/serve.md ("Usage") has it. */

import { isoTime } from '../../base/clock.ts';
import { type Admission, isRefused, type Refusal } from '../access/admission.ts';
import type { CallCount } from '../access/counts.ts';
import type { Account } from '../access/keys.ts';
import type { Limits } from '../access/limits.ts';
import type { UsageBody } from './shapes.ts';

type DayOfEndpoint = UsageBody['byDay'][number];

const DAYS = 30;

/** @param now epoch milliseconds. */
export function usageBody(
  admission: Pick<Admission, 'usage' | 'callsOf'>,
  account: Account,
  now: number,
): UsageBody | Refusal {
  const usage = admission.usage(account);
  if (isRefused(usage)) return usage;
  const counts = admission.callsOf(account.account, DAYS);
  if (isRefused(counts)) return counts;
  const asOf = isoTime(now);
  const { quota, rate, concurrency } = usage.limits;
  const { remaining, moreInMs, running } = usage;
  const byDay = rowsOf(counts);
  const callsOf = (rows: readonly DayOfEndpoint[]) => rows.reduce((sum, { calls }) => sum + calls, 0);
  return {
    account: account.account,
    asOf,
    limits: {
      quota: quota && { ...rateOf(quota), kind: quota.kind, remaining, moreInSeconds: secondsOf(moreInMs) },
      rate: rate && { ...rateOf(rate), burst: rate.burst },
      concurrency: concurrency === null ? null : { calls: concurrency, running },
    },
    calls: { today: callsOf(byDay.filter(({ day }) => asOf.startsWith(day))), last30Days: callsOf(byDay) },
    byDay,
  };
}

function rowsOf(counts: readonly CallCount[]): DayOfEndpoint[] {
  const rows = new Map<string, DayOfEndpoint>();
  for (const { day, endpoint, class: group, calls, firstAt, lastAt } of counts) {
    const name = `${day} ${endpoint}`;
    const none = { calls: 0, status2xx: 0, status3xx: 0, status4xx: 0, status5xx: 0 };
    const row = rows.get(name) ?? { day, endpoint, ...none, firstAt, lastAt };
    row.calls += calls;
    row[`status${group as 2 | 3 | 4 | 5}xx`] += calls;
    if (firstAt < row.firstAt) row.firstAt = firstAt;
    if (lastAt > row.lastAt) row.lastAt = lastAt;
    rows.set(name, row);
  }
  return [...rows.values()];
}

const rateOf = ({ calls, periodMs }: NonNullable<Limits['quota' | 'rate']>) => ({
  calls,
  periodSeconds: periodMs / 1_000,
});

const secondsOf = (ms: number | null) => (ms === null ? null : Math.ceil(ms / 1_000));
