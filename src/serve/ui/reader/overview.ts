/** The mirror at one look: its status and plan, and what the last day brought. */

import { DAY_MS, HOUR_MS, isoTime } from '../../../clock.ts';
import { planJson, planOf } from '../../../plan.ts';
import { statusOf } from '../../../reading/status.ts';
import type { Connection } from '../../../store/read.ts';
import type { ReaderParts } from '../reader.ts';
import type { DatasetDay, Overview, QuotaPoint, WalkMark } from '../wire.ts';

/** In the strip of a dataset. */
const WALKS = 40;

export function overviewOf(
  connection: Connection,
  { dir, jobs, datasets, spending, version, access }: Omit<ReaderParts, 'dir'> & { dir: string },
  now: number,
): Overview {
  const plan = planOf(connection, datasets, spending, now);
  return {
    version,
    access,
    at: isoTime(now),
    status: statusOf(connection, dir, datasets, spending, now),
    plan: planJson(plan),
    datasets: readDays(
      connection,
      jobs.map(({ name }) => name),
      now,
    ),
    ...readCalled(connection, now),
  };
}

type Counts = { inserted: number; updated: number; deleted: number };

function readDays(connection: Connection, jobs: readonly string[], now: number): DatasetDay[] {
  const walks = connection.prepare<[string, number], WalkMark>(
    `SELECT id, status, verdict, started_at AS startedAt, finished_at AS finishedAt, "rows", api_calls AS apiCalls, error
     FROM walks WHERE job = ? AND kind = 'walk' ORDER BY id DESC LIMIT ?`,
  );
  const hours = hoursUntil(now);
  // A walk counts in the hour of its latest change. By job, SQLite would look at every walk that there was.
  const changed = connection
    .prepare<[number], Counts & { job: string; hour: string }>(
      `SELECT job, strftime('%Y-%m-%dT%H:00:00.000Z', last_seq / 1000, 'unixepoch') AS hour,
         sum(inserted) AS inserted, sum(updated) AS updated, sum(deleted) AS deleted
       FROM walks INDEXED BY walks_by_seq WHERE last_seq >= ? GROUP BY 1, 2`,
    )
    .all(Date.parse(hours[0] ?? ''));
  const counts = new Map(changed.map(({ job, hour, ...counts }) => [`${job} ${hour}`, counts]));
  return jobs.map((job) => ({
    job,
    walks: walks.all(job, WALKS).reverse(),
    changes: hours.map((hour) => ({
      hour,
      ...(counts.get(`${job} ${hour}`) ?? { inserted: 0, updated: 0, deleted: 0 }),
    })),
  }));
}

/** The beginnings of 24 hours, the present one last. */
function hoursUntil(now: number): string[] {
  const last = now - (now % HOUR_MS);
  return Array.from({ length: DAY_MS / HOUR_MS }, (_, at) => isoTime(last - DAY_MS + (at + 1) * HOUR_MS));
}

type Called = {
  minutes: string;
  job: string;
  status: number | null;
  calls: number;
  /** The latest that told how many are left. */
  id: number | null;
  limit: number | null;
  remaining: number | null;
};

/** One look at every call of the last day. */
function readCalled(connection: Connection, now: number): Pick<Overview, 'quota' | 'calls'> {
  const called = connection
    .prepare<[string], Called>(
      // The bare columns are those of the row with the greatest id: SQLite promises it for a lone max().
      `SELECT substr(at, 1, 15) || '0:00.000Z' AS minutes, job, status, count(*) AS calls,
         max(CASE WHEN rate_remaining IS NOT NULL THEN id END) AS id, rate_limit AS "limit", rate_remaining AS remaining
       FROM requests WHERE at >= ? GROUP BY 1, 2, 3 ORDER BY 1`,
    )
    .all(isoTime(now - DAY_MS));
  const points = new Map<string, QuotaPoint & { id: number }>();
  const calls = new Map<string, Overview['calls'][number]>();
  for (const { minutes: at, job, status, calls: count, id, limit, remaining } of called) {
    const point = points.get(at) ?? { at, limit: null, remaining: null, calls: 0, refused: 0, id: -1 };
    const told = id !== null && id > point.id ? { id, limit, remaining } : {};
    const refused = point.refused + (status === 429 ? count : 0);
    points.set(at, { ...point, ...told, calls: point.calls + count, refused });
    const name = `${job} ${status}`;
    calls.set(name, { job, status, calls: (calls.get(name)?.calls ?? 0) + count });
  }
  return {
    quota: [...points.values()].map(({ id, ...point }) => point),
    calls: [...calls.values()],
  };
}
