/** The views over there: the mirror's own, and those that the jobs declare. */

import type { FollowedJob } from '../../job-list.ts';
import { changesSql, PROOF, quoted, SEEN } from '../../store/read.ts';
import type { Postgres } from './postgres.ts';

type Definition = { name: string; sql: string };

/** Makes views whose definition is not the one that was made last. A dataset that has not come yet has none. */
export async function makeViews(postgres: Postgres, jobs: readonly FollowedJob[]): Promise<void> {
  const tables = await postgres.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`,
  );
  const shipped = jobs.filter((job) => tables.some(({ name }) => name === job.rows));
  if (shipped.length === 0) return;
  const made = await madeViews(postgres, shipped);
  const due = definitions(shipped).filter(
    ({ name, sql }) => made.find((view) => view.name === name)?.sql !== sql,
  );
  if (due.length === 0) return;
  await postgres.transaction(async () => {
    for (const view of due) await makeView(postgres, view);
  });
}

/** Views of others may rest on it, which a new one of the same columns leaves as they are. */
export async function makeView(postgres: Postgres, { name, sql }: Definition): Promise<void> {
  await postgres.run(`CREATE OR REPLACE VIEW ${quoted(name)} AS ${sql}`);
  await postgres.run(`COMMENT ON VIEW ${quoted(name)} IS '${sql.replaceAll("'", "''")}'`);
}

/** Those of ours that are there, as `makeView` made them. */
export async function madeViews(postgres: Postgres, jobs: readonly FollowedJob[]): Promise<Definition[]> {
  return await postgres.query<Definition>(
    `SELECT relname AS name, obj_description(oid, 'pg_class') AS sql FROM pg_class
     WHERE relnamespace = current_schema()::regnamespace AND relkind = 'v' AND relname = ANY ($1)
       AND obj_description(oid, 'pg_class') IS NOT NULL`,
    [definitions(jobs).map(({ name }) => name)],
  );
}

function definitions(jobs: readonly FollowedJob[]): Definition[] {
  return [
    { name: 'freshness', sql: freshness(jobs) },
    { name: 'changes', sql: changesSql(jobs, seqOf) },
    ...jobs.flatMap(({ views }) => views),
  ];
}

/** The same columns as the mirror's, of what has arrived here; and up to which change that is, and since when. */
function freshness(jobs: readonly FollowedJob[]): string {
  const counts = jobs.map(
    (job) => `SELECT '${job.name}' AS job, (SELECT count(*) FROM ${quoted(job.table)}) AS rows`,
  );
  const age = (at: string) =>
    `CASE WHEN ${at} <= clock_timestamp() + interval '2 seconds'
      THEN greatest(0, round(extract(epoch FROM clock_timestamp() - ${at}), 1))::double precision END`;
  return `WITH counted AS (${counts.join(' UNION ALL ')})
SELECT counted.job, counted.rows, proof.started_at AS complete_as_of, ${age('proof.started_at')} AS age_seconds,
  proof.verdict, coalesce(walk.status, 'never') AS status, walk.error AS last_error, datasets.next_due_at,
  CASE WHEN ${age('seen.started_at')} IS NOT NULL THEN seen.started_at END AS seen_as_of,
  ${age('seen.started_at')} AS seen_age_seconds, place.seq AS shipped_seq, place.at AS shipped_at
FROM counted
LEFT JOIN LATERAL (SELECT * FROM walks WHERE walks.job = counted.job AND ${PROOF} ORDER BY id DESC LIMIT 1) AS proof ON true
LEFT JOIN LATERAL (SELECT * FROM walks WHERE walks.job = counted.job AND kind = 'walk' ORDER BY id DESC LIMIT 1) AS walk ON true
LEFT JOIN LATERAL (SELECT * FROM walks WHERE walks.job = counted.job AND ${SEEN} ORDER BY id DESC LIMIT 1) AS seen ON true
LEFT JOIN datasets ON datasets.job = counted.job
LEFT JOIN _places AS place ON place.job = counted.job`;
}

const seqOf = (at: string) => `(extract(epoch FROM ${at}) * 1000)::bigint`;
