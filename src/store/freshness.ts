/** The view `freshness`: one row a dataset that tells a report whether to trust the rest. */

import { getTableConfig } from 'drizzle-orm/sqlite-core';
import { CLOCK_TOLERANCE_MS } from '../clock.ts';
import type { Job, View } from '../job.ts';
import { PROOF } from './sql.ts';

/** A time ahead of the clock has no age: a negative one would pass for fresh. */
const SINCE = `round((julianday('now') - julianday(proof.started_at)) * 86400, 1)`;
const AGE_SECONDS = `CASE WHEN ${SINCE} >= ${-CLOCK_TOLERANCE_MS / 1_000} THEN max(0.0, ${SINCE}) END`;

export function freshness(jobs: readonly Job[]): View {
  const counts = jobs.map(
    (job) =>
      `SELECT '${job.name}' AS job, (SELECT count(*) FROM "${getTableConfig(job.table).name}") AS rows`,
  );
  return {
    name: 'freshness',
    about:
      'Whether to trust the rest: when the last walk that proved a dataset complete began, its age and verdict, how the latest walk stands and when the next is due.',
    sql: `WITH counted AS (${counts.join(' UNION ALL ')})
SELECT counted.job, counted.rows,
  proof.started_at AS complete_as_of,
  ${AGE_SECONDS} AS age_seconds,
  proof.verdict,
  coalesce(walk.status, 'never') AS status,
  walk.error AS last_error,
  datasets.next_due_at
FROM counted
LEFT JOIN walks AS proof
  ON proof.id = (SELECT id FROM walks WHERE job = counted.job AND ${PROOF} ORDER BY id DESC LIMIT 1)
LEFT JOIN walks AS walk ON walk.id = (SELECT max(id) FROM walks WHERE job = counted.job)
LEFT JOIN datasets ON datasets.job = counted.job`,
    example: 'SELECT job, rows, complete_as_of, verdict FROM freshness WHERE age_seconds < 600',
  };
}
