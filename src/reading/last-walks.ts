/** What the latest ended walk of each dataset took. */

import type { Connection } from '../store/read.ts';

/** `seconds` from its beginning to its end, with all that it waited for; `calls` that brought a page. */
export type LastWalk = { job: string; seconds: number; calls: number };

/** Those that have one. */
export function readLastWalks(connection: Connection, jobs: readonly string[]): LastWalk[] {
  const last = connection.prepare<[string], { startedAt: string; finishedAt: string; calls: number }>(
    `SELECT started_at AS startedAt, finished_at AS finishedAt, api_calls AS calls FROM walks
     WHERE job = ? AND kind = 'walk' AND finished_at IS NOT NULL ORDER BY id DESC LIMIT 1`,
  );
  return jobs.flatMap((job) => {
    const walk = last.get(job);
    if (!walk) return [];
    const ms = Date.parse(walk.finishedAt) - Date.parse(walk.startedAt);
    return [{ job, seconds: Math.max(0, ms) / 1_000, calls: walk.calls }];
  });
}
