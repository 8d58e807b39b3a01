/** What was called lately, and how the latest calls were answered. */

import { DAY_MS, HOUR_MS, isoTime } from '../../clock.ts';
import { type Connection, SILENCE_CODE, TELLING, UNANSWERED } from '../../store/read.ts';

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
  /** The latest call of each job in the last 24 hours. */
  lastCalls: Map<string, LastCall>;
};

export type LastCall = {
  status: number | null;
  errorCode: string | null;
  requestId: string | null;
  /** 1 where no answer came, and it was not we who stopped the call. */
  isUnanswered: 0 | 1;
};

/** Since when no call at all got an answer, ISO 8601 UTC, and the error code of the latest. */
export type Silence = { since: string; code: string };

type JobCalls = LastCall & { job: string; today: number; lastHour: number; lastDay: number; limited: number };

export function readCalls(connection: Connection, now: number): CallStatus {
  const midnight = `${isoTime(now).slice(0, 10)}T00:00:00.000Z`;
  const perJob = connection
    .prepare<[string, string, string], JobCalls>(
      // The bare columns are those of the row with the greatest value: SQLite promises it for a lone max().
      `SELECT job, max(CASE WHEN ${TELLING} THEN at || printf('%016d', id) END), status, ${SILENCE_CODE} AS errorCode, request_id AS requestId,
         ${TELLING} AND ${UNANSWERED} AS isUnanswered,
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
    lastCalls: new Map(perJob.map(({ job, ...call }) => [job, call])),
  };
}

/** Null where the API answered the latest call, or there was none. Looks at no more calls than went unanswered. */
export function readSilence(connection: Connection): Silence | null {
  const latest = 'ORDER BY at DESC, id DESC LIMIT 1';
  const answered = `SELECT at, id FROM requests WHERE ${TELLING} AND NOT ${UNANSWERED} ${latest}`;
  const { since, code } = connection
    .prepare<[], { since: string | null; code: string }>(
      `SELECT min(at) AS since,
         (SELECT ${SILENCE_CODE} FROM requests WHERE ${TELLING} ${latest}) AS code
       FROM requests WHERE ${TELLING}
         AND (at, id) > (SELECT at, id FROM (${answered}) UNION ALL SELECT '', 0 LIMIT 1)`,
    )
    .get() as { since: string | null; code: string };
  return since === null ? null : { since, code };
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
