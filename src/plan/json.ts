/** The account's limits and a plan as programs get them: times in ISO 8601 UTC, durations in seconds. */

import { isoTime } from '../clock.ts';
import type { DayPlan } from '../plan.ts';
import type { Limits } from './limits.ts';

export type LimitsJson = ReturnType<typeof limitsJson>;
export type QuotaJson = LimitsJson['quota'];

/** What `plan --json` prints. Within one `version` members are added, never removed or changed in meaning. */
export type PlanJson = ReturnType<typeof planJson>;

export function planJson(plan: DayPlan) {
  const { at, quota, waits, account } = plan;
  return {
    version: 1 as const,
    ...plan,
    at: isoTime(at),
    quota: quotaJson(quota),
    account: accountJson(account),
    waits: waits.map(waitJson),
  };
}

export function limitsJson({ quota, rate, concurrency, waits, account }: Limits) {
  return {
    account: accountJson(account),
    quota: quotaJson(quota),
    rate,
    concurrency,
    waits: waits === null ? null : waits.map(waitJson),
  };
}

function accountJson(account: Limits['account']) {
  return account && { ...account, asOf: isoTime(account.asOf) };
}

function quotaJson({ limit, remaining, asOf, reserve, refill, othersPerHour, apart }: Limits['quota']) {
  return {
    limit,
    remaining,
    asOf: asOf === null ? null : isoTime(asOf),
    reserve,
    refill: {
      kind: refill.kind,
      nextBy: refill.kind === 'window' ? isoTime(refill.nextBy) : null,
      periodSeconds: refill.kind === 'window' ? Math.round(refill.periodMs / 1_000) : null,
      perHour: refill.kind === 'trickle' ? Math.round(refill.perHour) : null,
      confidence: refill.confidence,
      evidence: refill.evidence,
    },
    othersPerHour,
    apart,
  };
}

function waitJson({ until, ...wait }: NonNullable<Limits['waits']>[number]) {
  return { ...wait, until: isoTime(until) };
}
