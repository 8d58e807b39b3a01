/** The view `freshness`: one row a dataset that tells a report whether to trust the rest. */

import { getTableConfig } from 'drizzle-orm/sqlite-core';
import type { Job } from '../job.ts';
import type { Connection } from './connection.ts';
import { ensureObject } from './ensure-object.ts';
import { PROOF } from './proof.ts';

export function ensureFreshness(connection: Connection, jobs: readonly Job[]): void {
  const counts = jobs.map(
    (job) =>
      `SELECT '${job.name}' AS job, (SELECT count(*) FROM "${getTableConfig(job.table).name}") AS rows`,
  );
  ensureObject(
    connection,
    'view',
    'freshness',
    `CREATE VIEW freshness AS
WITH counted AS (${counts.join(' UNION ALL ')}),
proven AS (SELECT job, max(id) AS id FROM walks WHERE ${PROOF} GROUP BY job),
latest AS (SELECT job, max(id) AS id FROM walks GROUP BY job)
SELECT counted.job, counted.rows,
  proof.started_at AS complete_as_of,
  round((julianday('now') - julianday(proof.started_at)) * 86400, 1) AS age_seconds,
  proof.verdict,
  coalesce(walk.status, 'never') AS status,
  walk.error AS last_error,
  datasets.next_due_at
FROM counted
LEFT JOIN proven USING (job) LEFT JOIN walks AS proof ON proof.id = proven.id
LEFT JOIN latest USING (job) LEFT JOIN walks AS walk ON walk.id = latest.id
LEFT JOIN datasets USING (job)`,
  );
}
