/** The SQL of a page of rows. Only the rows of the page are read whole, and only the beginning of their long values. */

import { type Condition, name, orderTerm, type Select, type Sql, select, whereOf } from '../../sql.ts';

export type Listing = {
  table: string;
  columns: readonly string[];
  where: NonNullable<Select['where']>;
  order: NonNullable<Select['order']>;
  /** Columns that tell its rows apart. */
  identity: readonly string[];
  /** SQL of further values of each row, in front of `columns`. */
  beside?: readonly string[];
  /** Whether its columns are read from `_body`, which takes long where there are many rows. */
  isRead: boolean;
};

/** Values of more bytes than this are sent in part, see `cutsOf`. */
export const LONG = { bytes: 1_000, letters: 300 };

/**
 * A page of the rows: `identity`, the lengths of what was cut (`cutsOf`), what is `beside`, and `columns`.
 * Sorting takes along only what it sorts by: whole rows would make it many times slower.
 */
export function pageSql(listing: Listing, limit: number, offset: number): Sql {
  const { table, columns, where, order, identity, beside = [], isRead } = listing;
  const { sql: condition, params } = fastWhere(where, isRead);
  const sorting = `ORDER BY ${[...order, ...identity.map((column) => ({ column }))].map(orderTerm).join(', ')}`;
  const keys = identity.map(name).join(', ');
  const lines = [
    `SELECT ${[keys, `${cutLengths(columns)} AS "_cut"`, ...beside, ...columns.map(cutValue)].join(',\n  ')}`,
    `FROM ${name(table)}`,
    `WHERE (${keys}) IN (`,
    `  SELECT ${keys} FROM ${name(table)}`,
    ...(condition === '' ? [] : [`  ${condition}`]),
    `  ${sorting} LIMIT ${limit} OFFSET ${offset}`,
    ')',
    sorting,
  ];
  return { sql: lines.join('\n'), params };
}

export function countSql({ table, where, isRead }: Listing): Sql {
  const { sql, params } = fastWhere(where, isRead);
  return { sql: `SELECT count(*) AS "rows" FROM ${name(table)}\n${sql}`, params };
}

/** The same rows in plain SQL. @param columns all of the table unless given. @param page all rows unless given. */
export function plainSql(
  { table, where, order, identity }: Listing,
  columns?: readonly string[],
  page: { limit?: number; offset?: number } = {},
): Sql {
  const named = columns && { columns: [...new Set([...identity, ...columns])] };
  const inOrder = [...order, ...identity.map((column) => ({ column }))];
  return select({ ...named, from: table, where, order: inOrder, ...page });
}

/** Some rows, by which columns are known. */
export function sampleSql(table: string, columns: readonly string[], rows: number): Sql {
  return { sql: `SELECT ${columns.map(cutValue).join(', ')} FROM ${name(table)} LIMIT ${rows}`, params: {} };
}

/** Most rows whose values are counted: more take longer than anybody waits. */
export const MAX_FACET_ROWS = 100_000;
const MAX_FACET_VALUES = 20;

/**
 * How often each value of some columns is there: `facet` (its place among `columns`), `value`, `rows`. The filters of a column do not
 * narrow its own values.
 */
export function facetSql({ table, where, isRead }: Listing, columns: readonly string[]): Sql {
  const isOf = (condition: Condition, column: string): boolean =>
    'either' in condition
      ? condition.either.every((one) => isOf(one, column))
      : 'column' in condition && condition.column === column;
  const params: Sql['params'] = {};
  const foundSql = (source: string, conditions: readonly Condition[], chosen: readonly string[]) => {
    const found = fastWhere(conditions, isRead, `${source}_`);
    Object.assign(params, found.params);
    const selected = `SELECT ${chosen.map(name).join(', ')} FROM ${name(table)} ${found.sql}`;
    return `${source} AS MATERIALIZED (${selected} LIMIT ${MAX_FACET_ROWS})`;
  };
  const filtered = columns.filter((column) => where.some((condition) => isOf(condition, column)));
  const free = columns.filter((column) => !filtered.includes(column));
  const sources = [
    ...(free.length > 0 ? [foundSql('found', where, free)] : []),
    ...filtered.map((column, at) =>
      foundSql(
        `others${at}`,
        where.filter((condition) => !isOf(condition, column)),
        [column],
      ),
    ),
  ];
  const counted = columns.map((column, at) => {
    const source = free.includes(column) ? 'found' : `others${filtered.indexOf(column)}`;
    return `SELECT * FROM (SELECT ${at} AS "facet", ${name(column)} AS "value", count(*) AS "rows" FROM ${source} GROUP BY 2 ORDER BY 3 DESC, 2 LIMIT ${MAX_FACET_VALUES})`;
  });
  return { sql: `WITH ${sources.join(',\n')}\n${counted.join('\nUNION ALL\n')}`, params };
}

/** What changed of a listing after `seq`: `came` (listed rows that are new or have changed) and `gone` (rows of the dataset). */
export function newerSql({ table, where, identity, isRead }: Listing, job: string, seq: number): Sql {
  const at = identity.includes('_valid_to') ? '_valid_to' : '_changed_at';
  const since = new Date(seq).toISOString();
  const { sql, params } = fastWhere([...where, { column: at, is: '>', value: since }], isRead);
  const gone = "SELECT count(*) FROM changes WHERE job = :job AND change = 'delete' AND at > :since";
  return {
    sql: `SELECT (SELECT count(*) FROM ${name(table)} ${sql}) AS "came", (${gone}) AS "gone"`,
    params: { ...params, job, since },
  };
}

/** How many rows differ from now since a time: `kind` (`new`, `changed` or `gone`) and `rows`. */
export function differenceSql(job: string, since: string): Sql {
  const lines = [
    'SELECT kind, count(*) AS "rows" FROM (',
    '  SELECT CASE',
    "    WHEN first = 'insert' AND last = 'delete' THEN NULL",
    "    WHEN first = 'insert' THEN 'new' WHEN last = 'delete' THEN 'gone' ELSE 'changed' END AS kind",
    '  FROM (',
    '    SELECT DISTINCT key, first_value(change) OVER life AS first, last_value(change) OVER life AS last',
    '    FROM changes WHERE job = :job AND at > :since',
    '    WINDOW life AS (PARTITION BY key ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)',
    '  )',
    ") WHERE kind IS NOT NULL GROUP BY kind ORDER BY kind = 'changed', kind DESC",
  ];
  return { sql: lines.join('\n'), params: { job, since } };
}

/** One value, whole. */
export function wholeSql(table: string, column: string, identity: Readonly<Record<string, string>>): Sql {
  const where = Object.entries(identity).map(([column, value]) => ({ column, is: '=' as const, value }));
  return select({ columns: [column], from: table, where, limit: 1 });
}

/** By the place among `columns`, how many bytes a value has of which only the beginning came. */
export function cutsOf(cell: unknown): ReadonlyMap<number, number> {
  const pairs = String(cell ?? '')
    .split(' ')
    .filter(Boolean);
  return new Map(pairs.map((pair) => pair.split(':').map(Number) as [number, number]));
}

/** Whose letters JSON may write in one way only, or as `\\u`: no quotes, no spaces between values, no slashes. */
const plainText = /^[\p{L}\p{N} ._@#$&+'()-]+$/u;

/** What a number or a truth value may show, whatever the body says: `1e2` is 100.0 in a column, `true` is 1. */
const likeNumber = /^[\d.einf+-]*$/i;

/**
 * A text in a column is also in the body, unless JSON wrote it with `\\u` or it was no text there. So the body is searched first, and
 * columns are read of few rows.
 */
export function fastWhere(where: Listing['where'], isRead: boolean, prefix = 'p'): Sql {
  const [first] = where;
  const { sql, params } = whereOf(where, prefix);
  if (first === undefined || !('anyOf' in first) || !isRead) return { sql, params };
  if (!plainText.test(first.contains) || likeNumber.test(first.contains)) return { sql, params };
  // A key may be a digest, which no body holds.
  const ofKey = first.anyOf.includes('_key') ? `"_key" LIKE :${prefix}1 ESCAPE '\\' OR ` : '';
  const inBody = `(${ofKey}"_body" LIKE :${prefix}1 ESCAPE '\\' OR instr("_body", '\\u') > 0)`;
  return { sql: sql.replace('WHERE ', () => `WHERE ${inBody}\n  AND `), params };
}

const isLong = (column: string) => `octet_length(${name(column)}) > ${LONG.bytes}`;

/** The beginning of a long value; numbers are never long, and stay numbers. */
const cutValue = (column: string) =>
  `iif(${isLong(column)}, substr(${name(column)}, 1, ${LONG.letters}), ${name(column)}) AS ${name(column)}`;

const cutLengths = (columns: readonly string[]) =>
  columns.length === 0
    ? "''"
    : columns
        .map((column, at) => `iif(${isLong(column)}, '${at}:' || octet_length(${name(column)}) || ' ', '')`)
        .join(' || ');
