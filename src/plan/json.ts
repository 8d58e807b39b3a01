/** The account's limits and a plan as programs get them: times in ISO 8601 UTC, durations in seconds. */

import { isoTime } from '../clock.ts';
import type { DayPlan } from '../plan.ts';
import type { Limits } from './limits.ts';

export type LimitsJson = {
  quota: QuotaJson;
  /** Null until the governor has begun to learn them. */
  rate: Limits['rate'];
  concurrency: Limits['concurrency'];
  waits: WaitJson[] | null;
  /** Empty: no meaning is read into error codes. */
  codes: Readonly<Record<string, string>> | null;
};

export type QuotaJson = Omit<Limits['quota'], 'asOf' | 'refill'> & {
  /** When `remaining` was told or counted. */
  asOf: string | null;
  refill: {
    kind: Limits['quota']['refill']['kind'];
    /** Of a window: when it resets at the latest, and how long it is. */
    nextBy: string | null;
    periodSeconds: number | null;
    /** Of a trickle: calls that come back in an hour. */
    perHour: number | null;
    confidence: string;
    evidence: string;
  };
};

/** A wait that the governor orders; `job` is null where all jobs wait. */
export type WaitJson = { job: string | null; reason: string; why: string; until: string };

export function limitsJson({ quota, rate, concurrency, waits }: Limits): LimitsJson {
  return { quota: quotaJson(quota), rate, concurrency, waits: waits && waitsJson(waits), codes: waits && {} };
}

/** What `plan --json` prints. Within one `version` members are added, never removed or changed in meaning. */
export type PlanJson = Omit<DayPlan, 'at' | 'quota' | 'waits'> & {
  version: 1;
  at: string;
  quota: QuotaJson;
  waits: WaitJson[];
};

export function planJson(plan: DayPlan): PlanJson {
  const { at, quota, waits } = plan;
  return { version: 1, ...plan, at: isoTime(at), quota: quotaJson(quota), waits: waitsJson(waits) };
}

function quotaJson({
  limit,
  remaining,
  asOf,
  reserve,
  refill,
  othersPerHour,
  apart,
}: Limits['quota']): QuotaJson {
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

function waitsJson(waits: NonNullable<Limits['waits']>): WaitJson[] {
  return waits.map(({ until, ...wait }) => ({ ...wait, until: isoTime(until) }));
}
