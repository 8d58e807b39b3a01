/** What the view of changes asks the database, and the fields that became others, as it answers. */

import type { PageCell, PageQuestion, Schema } from '../../../src/serve/page/wire.ts';
import { name, type Sql } from '../../sql.ts';
import { isBookkeeping } from '../dataset/columns.ts';
import { LONG } from '../dataset/rows-sql.ts';
import { type Change, changesBetween, leavesOfRow } from '../row/life.ts';

type DatasetTables = Schema['jobs'][number];

export type ChangeKind = 'insert' | 'update' | 'delete';

/** Which changes are shown, as the address has it. Times are ISO 8601 UTC. */
export type ChangesRequest = {
  job: string | null;
  kind: ChangeKind | null;
  /** A column of the dataset, whose value became another. */
  field: string | null;
  walk: number | null;
  /** Null: of any time. */
  from: string | null;
  until: string;
};

/** The columns that hold what the API said. */
export const fieldsOf = (schema: Schema, { table }: DatasetTables): string[] =>
  columnsIn(schema, table).flatMap(({ name }) => (isBookkeeping(name) ? [] : [name]));

const columnsIn = (schema: Schema, table: string) =>
  schema.tables.find(({ name }) => name === table)?.columns ?? [];

const booleansOf = (schema: Schema, { table }: DatasetTables): ReadonlySet<string> =>
  new Set(columnsIn(schema, table).flatMap(({ name, kind }) => (kind === 'boolean' ? [name] : [])));

/**
 * The changes, the latest first: seq, at, job, key, change, walk_id.
 * @param datasets those that may have changed in that time: the others are not looked at.
 */
export function changesSql(request: ChangesRequest, datasets: readonly DatasetTables[]): Sql {
  const { where, params } = conditionsOf(request, datasets);
  return {
    sql: `SELECT seq, at, job, key, change, walk_id\nFROM changes\n${where}\nORDER BY at DESC, job, key`,
    params,
  };
}

/** How many there are of each kind. */
export function countsSql(request: ChangesRequest, datasets: readonly DatasetTables[]): PageQuestion {
  const { where, params } = conditionsOf(request, datasets);
  return { sql: `SELECT change, count(*)\nFROM changes\n${where}\nGROUP BY change`, params, limit: 10 };
}

/** How many came after what is shown. @param end of the list, ISO 8601 UTC. */
export function newerSql(
  request: ChangesRequest,
  datasets: readonly DatasetTables[],
  end: string,
): PageQuestion {
  const { where, params } = conditionsOf({ ...request, from: request.until, until: end }, datasets);
  return { sql: `SELECT count(*)\nFROM changes\n${where}`, params, limit: 1 };
}

function conditionsOf(
  { job, kind, field, walk, from, until }: ChangesRequest,
  datasets: readonly DatasetTables[],
) {
  const chosen = datasets.filter((dataset) => job === null || dataset.name === job);
  const names = Object.fromEntries(chosen.map((dataset, at) => [`job${at}`, dataset.name]));
  const [only] = chosen;
  const terms = [
    `job IN (${Object.keys(names)
      .map((param) => `:${param}`)
      .join(', ')})`,
    ...(from === null ? [] : ['at > :from']),
    'at <= :until',
    ...(kind === null ? [] : ['change = :kind']),
    ...(walk === null
      ? []
      : [
          'seq BETWEEN (SELECT first_seq FROM walks WHERE id = :walk) AND (SELECT last_seq FROM walks WHERE id = :walk)',
          'walk_id = :walk',
        ]),
    ...(field !== null && chosen.length === 1 && only ? fieldTerms(only, field) : []),
  ];
  const params = {
    ...names,
    until,
    ...(from !== null && { from }),
    ...(kind !== null && { kind }),
    ...(walk !== null && { walk }),
  };
  return { where: `WHERE ${terms.join('\n  AND ')}`, params };
}

function fieldTerms({ table, history }: DatasetTables, field: string): string[] {
  if (history === null) return ['false'];
  const [value, now, past] = [name(field), name(table), name(history)];
  return [
    `change = 'update'`,
    `(SELECT ${value} FROM ${past} WHERE _key = changes.key AND _valid_to = changes.at AND _ended_by = 'update')
    IS NOT (SELECT ${value} FROM ${past} WHERE _key = changes.key AND _valid_from = changes.at
      UNION ALL SELECT ${value} FROM ${now} WHERE _key = changes.key AND _changed_at = changes.at LIMIT 1)`,
  ];
}

/** A row that changed at some time. */
type ChangedRow = { job: string; key: string; at: string };

/** Of longer versions the beginnings are read: a cell holds a megabyte, and cut JSON cannot be parsed. */
const MAX_VERSION_BYTES = 500_000;

/** As the rows of datasets whose fields are not specified came, they are kept: whole. */
const columnsOf = (schema: Schema, dataset: DatasetTables) =>
  dataset.isSpecified ? fieldsOf(schema, dataset) : ['_body'];

/**
 * The versions before and after each change as JSON lists of values: job, key, at, before, after. A list within a list holds the
 * beginnings of long values. Null where no dataset has versions.
 */
export function versionsSql(changed: readonly ChangedRow[], schema: Schema): PageQuestion | null {
  const params: Record<string, string> = {};
  const arms = schema.jobs.flatMap((dataset) => {
    const { name: job, table, history } = dataset;
    const rows = changed.filter((row) => row.job === job);
    if (rows.length === 0 || history === null) return [];
    const param = `rows${Object.keys(params).length}`;
    params[param] = JSON.stringify(rows.map(({ key, at }) => [key, at]));
    const columns = columnsOf(schema, dataset).map(name);
    const whole = `json_array(${columns.join(', ')})`;
    const values = `iif(octet_length(${whole}) <= ${MAX_VERSION_BYTES}, ${whole}, json_array(json_array(${columns.map(beginningOf).join(', ')})))`;
    const [now, past] = [name(table), name(history)];
    return [
      `SELECT '${job}' AS job, wanted.key, wanted.at,
  (SELECT ${values} FROM ${past} WHERE _key = wanted.key AND _valid_to = wanted.at AND _ended_by = 'update') AS before,
  coalesce((SELECT ${values} FROM ${past} WHERE _key = wanted.key AND _valid_from = wanted.at),
    (SELECT ${values} FROM ${now} WHERE _key = wanted.key AND _changed_at = wanted.at)) AS after
FROM (SELECT value ->> 0 AS key, value ->> 1 AS at FROM json_each(:${param})) AS wanted`,
    ];
  });
  return arms.length === 0 ? null : { sql: arms.join('\nUNION ALL\n'), params, limit: changed.length };
}

const beginningOf = (column: string) =>
  `iif(octet_length(${column}) > ${LONG.bytes}, substr(${column}, 1, ${LONG.letters}) || '… (' || octet_length(${column}) || ' bytes)', ${column})`;

/** What a change made of a row. */
type Difference = {
  changes: readonly Change[];
  /** Long values were compared by their beginnings and lengths. */
  isCut: boolean;
};

/** By job, time and key. @param rows of an answer to `versionsSql`. */
export function differencesOf(
  rows: readonly (readonly PageCell[])[],
  schema: Schema,
): ReadonlyMap<string, Difference> {
  const found = new Map<string, Difference>();
  for (const [job, key, at, before, after] of rows) {
    const dataset = schema.jobs.find(({ name }) => name === job);
    if (!dataset || typeof before !== 'string' || typeof after !== 'string') continue;
    const columns = columnsOf(schema, dataset);
    const versions = [before, after].map((json) => JSON.parse(json) as [PageCell[]] | PageCell[]);
    const isCut = versions.some(([first]) => Array.isArray(first));
    const [old, young] = versions.map((version) => {
      const [first] = version;
      const values = Array.isArray(first) ? first : (version as PageCell[]);
      return leavesOfRow(columns, isCut ? values.map(cut) : values, booleansOf(schema, dataset));
    });
    if (old && young) found.set(`${job} ${at} ${key}`, { changes: changesBetween(old, young), isCut });
  }
  return found;
}

/** As `beginningOf` cuts it, so that the other version compares with it. */
function cut(value: PageCell): PageCell {
  if (typeof value !== 'string') return value;
  const bytes = new TextEncoder().encode(value).length;
  if (bytes <= LONG.bytes) return value;
  return `${[...value.slice(0, 2 * LONG.letters)].slice(0, LONG.letters).join('')}… (${bytes} bytes)`;
}
