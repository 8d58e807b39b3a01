/** What was called lately, and what the API last said of the quota. */

import { isoTime } from '../clock.ts';
import type { Connection } from '../store/read.ts';

export type CallStatus = {
  calls: {
    /** Since midnight UTC. */
    today: number;
    todayByJob: Record<string, number>;
    /** In the last hour, and in the last 24. */
    lastHour: number;
    lastDay: number;
    byJob: Record<string, { lastHour: number; lastDay: number }>;
    /** Answers with status 429 in the last 24 hours. */
    limitedLastDay: number;
    /** Calls not made because one showed that a dataset stands as it was proven: since midnight UTC, and ever. */
    savedToday: number;
    savedInAll: number;
  };
  reported: ReportedQuota;
  /** The latest call of each job in the last 24 hours. */
  lastCalls: Map<string, LastCall>;
};

/** As the API last reported it; null where none of its latest answers did. */
export type ReportedQuota = { limit: number | null; remaining: number | null; reportedAt: string | null };

export type LastCall = { status: number | null; errorCode: string | null; requestId: string | null };

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

type JobCalls = LastCall & { job: string; today: number; lastHour: number; lastDay: number; limited: number };

export function readCalls(connection: Connection, now: number): CallStatus {
  const midnight = `${isoTime(now).slice(0, 10)}T00:00:00.000Z`;
  const perJob = connection
    .prepare<[string, string, string], JobCalls>(
      // The bare columns are those of the row with the greatest id: SQLite promises it for a lone max().
      `SELECT job, max(id), status, error_code AS errorCode, request_id AS requestId,
         sum(at >= ?) AS today, sum(at >= ?) AS lastHour, count(*) AS lastDay, sum(status IS 429) AS limited
       FROM requests WHERE at >= ? GROUP BY job ORDER BY job`,
    )
    .all(midnight, isoTime(now - HOUR_MS), isoTime(now - DAY_MS));
  const total = (of: (calls: JobCalls) => number) => perJob.reduce((sum, calls) => sum + of(calls), 0);
  const called = perJob.filter(({ today }) => today > 0);
  return {
    calls: {
      today: total(({ today }) => today),
      todayByJob: Object.fromEntries(called.map(({ job, today }) => [job, today])),
      lastHour: total(({ lastHour }) => lastHour),
      lastDay: total(({ lastDay }) => lastDay),
      byJob: Object.fromEntries(perJob.map(({ job, lastHour, lastDay }) => [job, { lastHour, lastDay }])),
      limitedLastDay: total(({ limited }) => limited),
      savedToday: readSavedSince(connection, midnight),
      savedInAll: sum(connection, 'SELECT sum(calls_saved) FROM datasets'),
    },
    reported: readReported(connection),
    lastCalls: new Map(perJob.map(({ job, ...call }) => [job, call])),
  };
}

/** By the walks begun since then, the latest first, down to one that began before. */
function readSavedSince(connection: Connection, time: string): number {
  const before = '(SELECT id FROM walks WHERE started_at < ? ORDER BY id DESC LIMIT 1)';
  return sum(connection, `SELECT sum(calls_saved) FROM walks WHERE id > coalesce(${before}, 0)`, time);
}

function sum(connection: Connection, sql: string, ...values: string[]): number {
  return (
    connection
      .prepare<string[], number | null>(sql)
      .pluck()
      .get(...values) ?? 0
  );
}

/** An API that says nothing of its quota must not cost a look at every call that was ever made. */
const LATEST_CALLS = 1_000;

export function readReported(connection: Connection): ReportedQuota {
  const reported = connection
    .prepare<[number], { limit: number | null; remaining: number; reportedAt: string }>(
      `SELECT rate_limit AS "limit", rate_remaining AS remaining, at AS reportedAt
       FROM (SELECT * FROM requests ORDER BY id DESC LIMIT ?)
       WHERE rate_remaining IS NOT NULL ORDER BY id DESC LIMIT 1`,
    )
    .get(LATEST_CALLS);
  return reported ?? { limit: null, remaining: null, reportedAt: null };
}
