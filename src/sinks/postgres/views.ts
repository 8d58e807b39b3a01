/** The views in Postgres: those of the mirror, over the tables there. */

import { CLOCK_TOLERANCE_MS } from '../../base/clock.ts';
import { toError } from '../../base/errors.ts';
import { storedName } from '../../base/properties.ts';
import type { ListedJob } from '../../job/list.ts';
import { storedColumnsOf } from '../../reading/columns.ts';
import {
  type AnalystView,
  analystViewsOf,
  type Connection,
  changeSources,
  changesSql,
  comparedColumns,
  freshnessSql,
  quoted,
  removerSql,
} from '../../store/read.ts';
import type { Postgres } from './client.ts';
import { columnsOfView, OURS } from './tables.ts';

type Definition = { name: string; sql: string };

/**
 * Makes views whose definition is not the one that was made last. A dataset that has not come yet has none.
 * @param job whose analysts' views are made, since its tables are as they should be.
 * @returns which views of analysts Postgres refuses, and why: something there has their name, or rests on them.
 */
export async function makeViews(
  postgres: Postgres,
  connection: Connection,
  jobs: readonly ListedJob[],
  job: ListedJob,
): Promise<string[]> {
  // One shipper at a time: two would replace the same view.
  await postgres.run(
    `SELECT pg_advisory_xact_lock(hashtext('market-mirror views'), hashtext(current_schema()))`,
  );
  const tables = await postgres.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`,
  );
  const shipped = jobs.filter((job) => tables.some(({ name }) => name === rowsThere(job)));
  if (shipped.length === 0) return [];
  const made = new Map((await madeViews(postgres)).map(({ name, sql }) => [name, sql]));
  for (const view of generalViews(shipped))
    if (made.get(view.name) !== view.sql) await makeView(postgres, view);
  const problems: string[] = [];
  for (const view of await analystViews(postgres, connection, job)) {
    if (made.get(view.name) === view.sql) continue;
    try {
      await postgres.attempt(() => makeView(postgres, view));
    } catch (thrown) {
      problems.push(`the view ${view.name} cannot be made: ${toError(thrown).message}`);
    }
  }
  return problems;
}

/** Rows and volatile values lie apart only where there are such values. */
const rowsThere = ({ table, rows, volatile }: ListedJob) => (volatile.length > 0 ? rows : table);

/** The view is replaced, not dropped, since views of others may rest on it. Its comment is the SQL by which `madeViews` knows it again. */
async function makeView(postgres: Postgres, { name, sql }: Definition): Promise<void> {
  await postgres.run(`CREATE OR REPLACE VIEW ${quoted(name)} AS ${sql}`);
  await postgres.run(`COMMENT ON VIEW ${quoted(name)} IS ${text(`${OURS}${sql}`)}`);
}

/** Those of ours that are there, as `makeView` made them. */
async function madeViews(postgres: Postgres): Promise<Definition[]> {
  return await postgres.query<Definition>(
    `SELECT relname AS name, substr(obj_description(oid, 'pg_class'), ${OURS.length + 1}) AS sql FROM pg_class
     WHERE relnamespace = current_schema()::regnamespace AND relkind = 'v' AND obj_description(oid, 'pg_class') LIKE '${OURS}%'`,
  );
}

/** Views over all datasets, and those that jobs declare. */
function generalViews(jobs: readonly ListedJob[]): Definition[] {
  const counted = jobs.map(({ name, table }) => ({ name, rows: table }));
  return [
    { name: 'freshness', sql: freshnessSql(counted, ageOf, arrived) },
    { name: 'changes', sql: changesSql(jobs, seqOf) },
    ...jobs.flatMap(({ views }) =>
      views.flatMap(({ name, postgres }) => (postgres === undefined ? [] : [{ name, sql: postgres }])),
    ),
  ];
}

/** Those that the mirror has of a dataset, see `analystViewsOf`. */
async function analystViews(
  postgres: Postgres,
  connection: Connection,
  job: ListedJob,
): Promise<Definition[]> {
  const columns = await columnsOfView(postgres, job.table);
  const definitions: Definition[] = [];
  for (const view of analystViewsOf(connection, job)) {
    if (view.shows === 'changes') definitions.push({ name: view.name, sql: changesOf(connection, job) });
    else if (view.shows === 'lists') definitions.push({ name: view.name, sql: listsOf(job, view) });
    else {
      // Those that it has keep their places.
      const present = await columnsOfView(postgres, view.name);
      const shown = [...present, ...columns.filter((name) => name !== '_number' && !present.includes(name))];
      const sql = `SELECT ${shown.map(quoted).join(', ')} FROM ${quoted(job.table)} WHERE _held_since IS NULL`;
      definitions.push({ name: view.name, sql });
    }
  }
  return definitions;
}

function changesOf(connection: Connection, job: ListedJob): string {
  const { name, history } = job;
  const first = `(SELECT coalesce(min(id) FILTER (WHERE kind = 'walk' AND status = 'complete' AND renewal_of IS NULL), max(id))
    FROM walks WHERE job = ${text(name)})`;
  const compared = comparedThere(connection, job).map(text).join(', ');
  const lines = changeSources(job).map(({ at, source, where }) => {
    const time = `version.${at}`;
    const kind = `CASE WHEN version._walk_id <= ${first} THEN 'first' ELSE 'new' END`;
    const line = (kind: string, field: string, walk: string) =>
      `SELECT ${seqOf(time)} AS seq, ${time} AS at, ${kind} AS kind, version._key AS _key, ${field}, ${walk} AS walk_id FROM ${source}`;
    const none = 'NULL::text AS "column", NULL::text AS old, NULL::text AS new';
    const rest = where === null ? '' : ` WHERE ${where}`;
    if (history === null) return line(kind, none, 'version._walk_id');
    if (at === '_valid_to') return line(`'gone'`, none, removerSql(name, time, seqOf)) + rest;
    return `${line(
      `CASE WHEN before._key IS NULL THEN ${kind} ELSE 'changed' END`,
      'field.name AS "column", field.old AS old, field.new AS new',
      'version._walk_id',
    )}
  LEFT JOIN ${quoted(history)} AS before ON before._key = version._key AND before._valid_to = ${time} AND before._valid_from < before._valid_to
  LEFT JOIN LATERAL (SELECT was.key AS name, was.value AS old, became.value AS new
    FROM json_each_text(row_to_json(before.*)) AS was JOIN json_each_text(row_to_json(version.*)) AS became ON became.key = was.key
    WHERE was.value IS DISTINCT FROM became.value AND was.key = ANY (ARRAY[${compared}]::text[])) AS field ON before._key IS NOT NULL${rest}`;
  });
  return lines.join('\nUNION ALL\n');
}

/** The columns that are compared, by their names there. */
function comparedThere(connection: Connection, job: ListedJob): string[] {
  const compared = new Set(
    comparedColumns(connection, job).map((name) => `stored.${quoted(storedName(name))}`),
  );
  const { rows } = storedColumnsOf(connection, job);
  return rows.flatMap(({ name, valueSql, isDerived }) =>
    !isDerived && compared.has(valueSql) ? [name] : [],
  );
}

function listsOf({ table }: ListedJob, view: AnalystView & { shows: 'lists' }): string {
  const value =
    view.names === null
      ? `listed.${quoted(view.column)}`
      : `(listed._body #> ARRAY[${view.names.map(text).join(', ')}])`;
  return `SELECT listed._key AS _key, item.number - 1 AS position, item.value AS value FROM ${quoted(table)} AS listed,
  json_array_elements_text(CASE WHEN json_typeof(${value}) = 'array' THEN ${value} END) WITH ORDINALITY AS item (value, number)`;
}

const text = (value: string) => `'${value.replaceAll("'", "''")}'`;

/** Further columns of `freshness`: up to which change each dataset has been shipped, and when. */
const arrived = {
  columns: ', arrived.seq AS shipped_seq, arrived.at AS shipped_at',
  join: '\nLEFT JOIN _positions AS arrived ON arrived.job = counted.job',
  ofDatasets: 'datasets',
};

const ageOf = (at: string) =>
  `CASE WHEN ${at} <= clock_timestamp() + interval '${CLOCK_TOLERANCE_MS} milliseconds'
    THEN greatest(0, round(extract(epoch FROM clock_timestamp() - ${at}), 1))::double precision END`;

const seqOf = (at: string) => `(extract(epoch FROM ${at}) * 1000)::bigint`;
