/** The account's limits as far as they are known, the calls that may be spent, and both as JSON. */

import { DAY_MS, HOUR_MS, isoTime } from '../clock.ts';
import { type Description, describeKept } from '../governor/describe.ts';
import type { StateCopy } from '../governor/state.ts';
import type { Connection } from '../store/read.ts';
import type { Budget } from './spacing.ts';

/** Times in epoch milliseconds, as the governor describes its state. */
export type Limits = {
  quota: Omit<Description['quota'], 'source'>;
  /** Null until the governor has begun to learn them. */
  rate: Description['rate'] | null;
  concurrency: Description['concurrency'] | null;
  waits: Description['waits'] | null;
  /** By which name they are shared, with so many processes, and when that was last seen; null where they are not. */
  account: Shared | null;
};

type Shared = { name: string; processes: number; asOf: number };

/** As the governor has learnt them; nothing is known before its first call. */
export function readLimits(connection: Connection, now: number): Limits {
  const kept = connection.prepare<[], string>('SELECT state FROM _governor WHERE id = 1').pluck().get();
  if (kept === undefined)
    return { quota: unknownQuota, rate: null, concurrency: null, waits: null, account: null };
  const state: unknown = JSON.parse(kept);
  return { ...describeKept(state, now), account: sharedIn(state) };
}

function sharedIn(state: unknown): Shared | null {
  const { account } = (state ?? {}) as Partial<StateCopy>;
  return account ? { name: account.name, processes: account.processes, asOf: account.heardAt } : null;
}

const unknownQuota: Limits['quota'] = {
  ...{ limit: null, remaining: null, asOf: null, reserve: 0, othersPerHour: 0, apart: [] },
  refill: { kind: 'unknown', confidence: 'none', evidence: 'no call was governed yet' },
};

/** The calls that may be spent, or why nobody knows how many. */
export function budgetOf(quota: Limits['quota'], now: number): Budget | { unknown: string } {
  const { limit, remaining, asOf, reserve, refill, othersPerHour } = quota;
  if (remaining === null || limit === null) return { unknown: 'the API has not reported any quota yet' };
  const left = Math.max(0, remaining - reserve);
  if (refill.kind === 'trickle') return trickle(left, Math.round(refill.perHour) * 24);
  if (refill.kind === 'unknown') return { unknown: `reset time not known yet: ${refill.evidence}` };
  const { periodMs } = refill;
  const nextInMs = Math.max(0, refill.nextBy - now);
  const without = (calls: number, ms: number) =>
    Math.max(0, calls - reserve - (othersPerHour * ms) / HOUR_MS);
  const hasReset = asOf !== null && asOf < now + nextInMs - periodMs;
  return {
    remaining: without(hasReset ? limit : remaining, nextInMs),
    nextInMs,
    perPeriod: without(limit, periodMs),
    periodMs,
  };
}

/** Over a day, calls that come back one by one count as there from the beginning. */
function trickle(left: number, perDay: number): Budget {
  return { remaining: left + perDay, nextInMs: DAY_MS, perPeriod: perDay, periodMs: DAY_MS };
}

export type LimitsJson = ReturnType<typeof limitsJson>;
export type QuotaJson = LimitsJson['quota'];

/** For programs: times in ISO 8601 UTC, durations in seconds. */
export function limitsJson({ quota, rate, concurrency, waits, account }: Limits) {
  return {
    account: accountJson(account),
    quota: quotaJson(quota),
    rate,
    concurrency,
    waits: waits === null ? null : waits.map(waitJson),
  };
}

export function accountJson(account: Limits['account']) {
  return account && { ...account, asOf: isoTime(account.asOf) };
}

export function quotaJson({
  limit,
  remaining,
  asOf,
  reserve,
  refill,
  othersPerHour,
  apart,
}: Limits['quota']) {
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

export function waitJson({ until, ...wait }: NonNullable<Limits['waits']>[number]) {
  return { ...wait, until: isoTime(until) };
}
