/** Differences of what came from the contract or from earlier rows: one row each, with a count. */

import type { Drift } from '../validate/checked.ts';
import type { Connection } from './connection.ts';

/** What brought a row, and when. */
export type Origin = { job: string; walkId: number; requestId: string | null; now: string };

/** Further differences of a dataset share one row of kind `more`. */
export const MAX_DRIFTS = 1_000;

const more: Omit<Drift, 'times'> = {
  kind: 'more',
  path: '',
  detail: `than ${MAX_DRIFTS} differences; these are not told apart`,
};

const identity = ({ kind, path, detail }: Omit<Drift, 'times'>) => JSON.stringify([kind, path, detail]);

export type DriftLog = {
  /** Writes a difference when this walk first meets it; from then on it is only counted. */
  note(found: Drift, origin: Origin): void;
  /** Writes what has been counted since. */
  flush(): void;
};

export function createDriftLog(connection: Connection, job: string): DriftLog {
  const known = new Set(
    connection
      .prepare<[string], Omit<Drift, 'times'>>('SELECT kind, path, detail FROM drift WHERE job = ?')
      .all(job)
      .map(identity),
  );
  const upsert = connection.prepare<[Drift & Origin]>(
    `INSERT INTO drift (job, kind, path, detail, times, request_id, walk_id, first_seen_at, last_seen_at)
     VALUES (:job, :kind, :path, :detail, :times, :requestId, :walkId, :now, :now)
     ON CONFLICT DO UPDATE SET last_seen_at = excluded.last_seen_at, times = times + excluded.times`,
  );
  /** Those that this walk has met, each with how often since it was last written. */
  const noted = new Map<string, Drift & Origin>();
  return {
    note(found, origin) {
      const isOne = known.has(identity(found)) || known.size < MAX_DRIFTS;
      const drift = { ...(isOne ? found : more), times: found.times, ...origin };
      const id = identity(drift);
      const times = noted.get(id)?.times;
      if (times === undefined) upsert.run(drift);
      known.add(id);
      noted.set(id, { ...drift, times: times === undefined ? 0 : times + found.times });
    },
    flush() {
      for (const drift of noted.values()) {
        if (drift.times > 0) upsert.run(drift);
        drift.times = 0;
      }
    },
  };
}
