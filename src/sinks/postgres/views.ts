/** The views over there: the mirror's own, and those that the jobs declare. */

import { CLOCK_TOLERANCE_MS } from '../../clock.ts';
import type { ListedJob } from '../../job-list.ts';
import { changesSql, freshnessSql, quoted } from '../../store/read.ts';
import type { Postgres } from './client.ts';

type Definition = { name: string; sql: string };

/** Makes views whose definition is not the one that was made last. A dataset that has not come yet has none. */
export async function makeViews(postgres: Postgres, jobs: readonly ListedJob[]): Promise<void> {
  const tables = await postgres.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`,
  );
  const shipped = jobs.filter((job) => tables.some(({ name }) => name === rowsThere(job)));
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

/** Rows and volatile values lie apart only where there are such values. */
const rowsThere = ({ table, rows, volatile }: ListedJob) => (volatile.length > 0 ? rows : table);

/** Views of others may rest on it, which a new one of the same columns leaves as they are. */
async function makeView(postgres: Postgres, { name, sql }: Definition): Promise<void> {
  await postgres.run(`CREATE OR REPLACE VIEW ${quoted(name)} AS ${sql}`);
  await postgres.run(`COMMENT ON VIEW ${quoted(name)} IS '${sql.replaceAll("'", "''")}'`);
}

/** Those of ours that are there, as `makeView` made them. */
async function madeViews(postgres: Postgres, jobs: readonly ListedJob[]): Promise<Definition[]> {
  return await postgres.query<Definition>(
    `SELECT relname AS name, obj_description(oid, 'pg_class') AS sql FROM pg_class
     WHERE relnamespace = current_schema()::regnamespace AND relkind = 'v' AND relname = ANY ($1)
       AND obj_description(oid, 'pg_class') IS NOT NULL`,
    [definitions(jobs).map(({ name }) => name)],
  );
}

function definitions(jobs: readonly ListedJob[]): Definition[] {
  const counted = jobs.map(({ name, table }) => ({ name, rows: table }));
  return [
    { name: 'freshness', sql: freshnessSql(counted, ageOf, arrived) },
    { name: 'changes', sql: changesSql(jobs, seqOf) },
    ...jobs.flatMap(({ views }) =>
      views.flatMap(({ name, postgres }) => (postgres === undefined ? [] : [{ name, sql: postgres }])),
    ),
  ];
}

/** Up to which change each dataset has arrived here, and since when: beside the columns of the mirror's own. */
const arrived = {
  columns: ', place.seq AS shipped_seq, place.at AS shipped_at',
  join: '\nLEFT JOIN _places AS place ON place.job = counted.job',
};

const ageOf = (at: string) =>
  `CASE WHEN ${at} <= clock_timestamp() + interval '${CLOCK_TOLERANCE_MS} milliseconds'
    THEN greatest(0, round(extract(epoch FROM clock_timestamp() - ${at}), 1))::double precision END`;

const seqOf = (at: string) => `(extract(epoch FROM ${at}) * 1000)::bigint`;
