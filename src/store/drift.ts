/** Differences between what the contract or earlier rows say and what came: one row each, however often met. */

import type { Drift } from '../validate/checked.ts';
import type { Connection } from './connection.ts';
import type { Origin } from './quarantine.ts';

export type DriftLog = {
  /** Writes a difference when this walk first meets it; from then on it is only counted. */
  note(found: Drift, origin: Origin): void;
  /** Writes what has been counted since. */
  flush(): void;
};

/** A dataset that differs in more ways is summed up in one row of kind `more`. */
export const MAX_DRIFTS = 1_000;

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
  const noted = new Map<string, { found: Drift; origin: Origin }>();
  return {
    note(given, origin) {
      const found =
        known.has(identity(given)) || known.size < MAX_DRIFTS ? given : { ...more, times: given.times };
      const id = identity(found);
      const earlier = noted.get(id);
      if (earlier) {
        noted.set(id, { found: { ...found, times: earlier.found.times + found.times }, origin });
        return;
      }
      upsert.run({ ...found, ...origin });
      known.add(id);
      noted.set(id, { found: { ...found, times: 0 }, origin });
    },
    flush() {
      for (const [id, { found, origin }] of noted) {
        if (found.times === 0) continue;
        upsert.run({ ...found, ...origin });
        noted.set(id, { found: { ...found, times: 0 }, origin });
      }
    },
  };
}

const more: Omit<Drift, 'times'> = {
  kind: 'more',
  path: '',
  detail: `than ${MAX_DRIFTS} differences; these are not told apart`,
};

const identity = ({ kind, path, detail }: Omit<Drift, 'times'>) => JSON.stringify([kind, path, detail]);
