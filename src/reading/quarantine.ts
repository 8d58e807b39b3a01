/** The rows that broke the contract, each with the reason. */

import { readMirror } from '../store/read.ts';

/** Times are ISO 8601 UTC. */
export type QuarantinedRow = {
  job: string;
  /** Null where none could be read. */
  key: string | null;
  problems: { path: string; expected: string; received: string }[];
  /** JSON as received. */
  body: string;
  /** X-Request-ID of the answer that last brought it. */
  requestId: string | null;
  firstSeenAt: string;
  lastSeenAt: string;
  /** How often it was refused. */
  times: number;
};

/**
 * Hands the unresolved rows of the named jobs to `read`, one at a time, the oldest first.
 * @throws Failure `incomplete` where there is no mirror yet, `config` for one newer than this code.
 */
export function readQuarantine(
  dir: string,
  jobs: readonly string[],
  read: (row: QuarantinedRow) => void,
): void {
  readMirror(dir, (connection) => {
    const rows = connection.prepare<[string], Omit<QuarantinedRow, 'problems'> & { problems: string }>(
      `SELECT job, "key", problems, body, request_id AS requestId, first_seen_at AS firstSeenAt,
         last_seen_at AS lastSeenAt, times
       FROM quarantine WHERE resolved_at IS NULL AND job IN (SELECT value FROM json_each(?)) ORDER BY job, id`,
    );
    for (const row of rows.iterate(JSON.stringify(jobs)))
      read({ ...row, problems: JSON.parse(row.problems) });
  });
}
