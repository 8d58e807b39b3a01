/** What is known of the account's limits: learnt by the governor, where it has begun to, else as last reported. */

import { isoTime } from '../clock.ts';
import type { Connection } from '../store/read.ts';
import type { ReportedQuota } from './calls.ts';

type Known = { confidence: string; evidence: string };

/** What the governor says of its state; times in epoch milliseconds. */
export type GovernorFacts = {
  quota: {
    limit: number | null;
    remaining: number | null;
    asOf: number | null;
    reserve: number;
    refill: Known &
      (
        | { kind: 'window'; periodMs: number; nextBy: number }
        | { kind: 'trickle'; perHour: number }
        | { kind: 'unknown' }
      );
    othersPerHour: number;
    apart: readonly string[];
  };
  rate: Known & { perSecond: number | null };
  concurrency: Known & { allowed: number };
  waits: readonly { job: string | null; until: number; reason: string; why: string }[];
};

export type DescribeGovernor = (kept: unknown, now: number) => GovernorFacts;

/** Times are ISO 8601 UTC. */
export type QuotaStatus = {
  limit: number | null;
  remaining: number | null;
  /** When `remaining` was told or counted. */
  asOf: string | null;
  /** Calls that are kept back, to see when more come. */
  reserve: number;
  refill: Known & { kind: 'window' | 'trickle' | 'unknown' } & {
    /** Of a window: when it begins anew at the latest, and how long it is. */
    nextBy: string | null;
    periodSeconds: number | null;
    /** Of a trickle: calls that come back in an hour. */
    perHour: number | null;
  };
  /** What others seem to take from the same account. */
  othersPerHour: number;
  /** Jobs that seem not to draw on it. */
  apart: readonly string[];
};

/** A wait that the governor orders; `job` is null where all jobs wait. */
export type WaitStatus = { job: string | null; until: string; reason: string; why: string };

export type Limits = {
  quota: QuotaStatus;
  /** Null until the governor has begun to learn them. */
  rate: GovernorFacts['rate'] | null;
  concurrency: GovernorFacts['concurrency'] | null;
  waits: WaitStatus[] | null;
  /** Empty: no meaning is read into error codes. */
  codes: Readonly<Record<string, string>> | null;
};

export function readLimits(
  connection: Connection,
  reported: ReportedQuota,
  now: number,
  describe: DescribeGovernor | undefined,
): Limits {
  const kept = connection.prepare<[], string>('SELECT state FROM governor WHERE id = 1').pluck().get();
  if (kept === undefined || !describe)
    return { quota: fromReport(reported), rate: null, concurrency: null, waits: null, codes: null };
  const { quota, rate, concurrency, waits } = describe(JSON.parse(kept), now);
  const { limit, remaining, asOf, reserve, refill, othersPerHour, apart } = quota;
  return {
    quota: {
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
    },
    rate,
    concurrency,
    waits: waits.map(({ until, ...wait }) => ({ ...wait, until: isoTime(until) })),
    codes: {},
  };
}

function fromReport({ limit, remaining, reportedAt }: ReportedQuota): QuotaStatus {
  const refill = {
    kind: 'unknown',
    nextBy: null,
    periodSeconds: null,
    perHour: null,
    confidence: 'none',
    evidence: 'no call was governed yet',
  } as const;
  return { limit, remaining, asOf: reportedAt, reserve: 0, refill, othersPerHour: 0, apart: [] };
}
