/** What the lists of the page ask, in the grammar of `/mirror/v1`, as SQL: the state of a list is its query string. */

import type { ListedJob } from '../../job/list.ts';
import { type Connection, quoted } from '../../store/read.ts';
import { QueryError } from '../answers/mirror-v1/errors.ts';
import { type Filter, parseRequest } from '../answers/mirror-v1/parse.ts';
import {
  type Column,
  columnFinder,
  columnsOf,
  type ListDataset,
  plainClauses,
  type SqlValue,
  viewRows,
} from '../answers/mirror-v1/sql.ts';

import type { PageSql } from './wire.ts';

type Params = Record<string, SqlValue>;

/** `sql` is run; `whole` is for people: all rows that fit, in plain SQL. */
export type TranslatedSql = {
  readonly sql: string;
  readonly params: Params;
  readonly whole: Required<PageSql>;
};

/** A value that is counted beside the rows of a list is one of so many at most. */
const MAX_FACET_VALUES = 20;
/** Counting more rows takes longer than anybody waits. */
const MAX_FACET_ROWS = 100_000;

/**
 * @param ask `<table>?<question>`, such as `news?source=eq.x&order=published_at.desc&limit=50`: a dataset, its history, or any other
 * table or view of the mirror.
 * @param facets columns whose values are counted, unless null: then `facet` (a column, null for all rows), `value`, `rows`. The
 * filters of a column do not narrow its own values.
 * @throws QueryError
 */
export function sqlOf(
  connection: Connection,
  jobs: readonly ListedJob[],
  ask: string,
  facets: readonly string[] | null,
  now: number,
): TranslatedSql {
  const cut = ask.indexOf('?');
  const table = cut < 0 ? ask : ask.slice(0, cut);
  const source = sourceOf(connection, jobs, table);
  const request = parseRequest(new URLSearchParams(cut < 0 ? '' : ask.slice(cut)), now);
  if (facets) return countsSql(table, source, request.filters, facets);
  const columnOf = columnFinder(source);
  const names = request.select?.flatMap((item) =>
    item === '*' ? source.columns.map(({ name }) => name) : [columnOf(item.field.column).name],
  );
  const shown = names ? [...new Set(names)].map(quoted).join(', ') : '*';
  const params: Params = {};
  const { conditions, order } = plainClauses(source, request, params);
  const from = `FROM ${quoted(table)}`;
  const where = conditions.length === 0 ? [] : [`WHERE ${conditions.join('\n  AND ')}`];
  const sorted = order.length === 0 ? [] : [`ORDER BY ${order.join(', ')}`];
  const whole = [`SELECT ${shown}`, from, ...where, ...sorted].join('\n');
  const shownWhole = { sql: whole, params: jsonOf(params) };
  if (request.limit === null) return { sql: whole, params, whole: shownWhole };
  const part = `LIMIT ${request.limit} OFFSET ${request.offset}`;
  // Sorting takes along only what it sorts by: whole rows would make it many times slower.
  const isKeyed = source.keys.length > 0 && order.length > source.ties.length;
  const keys = source.keys.join(', ');
  const page = isKeyed
    ? [
        `SELECT ${shown}`,
        from,
        `WHERE (${keys}) IN (SELECT ${keys} ${from}`,
        ...where,
        ...sorted,
        `${part})`,
        ...sorted,
      ]
    : [whole, part];
  return { sql: page.join('\n'), params, whole: shownWhole };
}

/** A number that a double cannot hold becomes a text of its digits. */
const jsonOf = (params: Params): Required<PageSql>['params'] =>
  Object.fromEntries(
    Object.entries(params).map(([name, value]) => {
      if (typeof value !== 'bigint') return [name, value];
      return [name, Number.isSafeInteger(Number(value)) ? Number(value) : String(value)];
    }),
  );

type Source = {
  columns: readonly Column[];
  ties: readonly string[];
  /** Those of its columns that name a row, where it is a dataset or a history. */
  keys: readonly string[];
};

function sourceOf(connection: Connection, jobs: readonly ListedJob[], table: string): Source {
  const around = jobs.filter((job) => table === job.table || table.startsWith(`${job.table}_`));
  const [job] = around.sort((one, other) => other.table.length - one.table.length);
  if (job && (table === job.table || table === job.history)) {
    const keys = table === job.history ? ['_key', '_valid_to'] : ['_key'];
    return { columns: columnsOf(connection, job as ListDataset, table), ties: keys, keys };
  }
  if (job) {
    const { columns, ties } = viewRows(connection, job as ListDataset, table);
    if (columns.length > 0) return { columns, ties, keys: [] };
  }
  const columns = connection
    .prepare<[string], { name: string; type: string }>('SELECT name, type FROM pragma_table_xinfo(?)')
    .all(table)
    .map(({ name, type }): Column => {
      const kind = /^(?:INT|REAL|NUM)/i.test(type) ? 'number' : 'text';
      return { name, kind, path: null, isLong: false };
    });
  if (columns.length === 0)
    throw new QueryError(404, 'PGRST205', `there is no table or view '${table.slice(0, 60)}'`);
  return { columns, ties: columns.some(({ name }) => name === 'id') ? ['id'] : [], keys: [] };
}

function countsSql(
  table: string,
  source: Source,
  filters: readonly Filter[],
  facets: readonly string[],
): TranslatedSql {
  const params: Params = {};
  const columnOf = columnFinder(source);
  const isOf = (filter: Filter, column: string): boolean =>
    'members' in filter
      ? filter.members.every((member) => isOf(member, column))
      : filter.field.column === column;
  const found = (kept: readonly Filter[]) => {
    const { conditions } = plainClauses(source, { filters: kept, order: [] }, params);
    return `FROM ${quoted(table)}${conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`}`;
  };
  const names = facets.map((facet) => columnOf(facet).name);
  const free = names.filter((name) => !filters.some((filter) => isOf(filter, name)));
  const all = found(filters);
  const lines = names.map((name) => {
    const from = free.includes(name)
      ? 'FROM found'
      : `FROM (SELECT ${quoted(name)} ${found(filters.filter((filter) => !isOf(filter, name)))} LIMIT ${MAX_FACET_ROWS})`;
    return `SELECT * FROM (SELECT '${name.replaceAll("'", "''")}', ${quoted(name)}, count(*) ${from} GROUP BY 2 ORDER BY 3 DESC, 2 LIMIT ${MAX_FACET_VALUES})`;
  });
  const sql = [
    ...(free.length === 0
      ? []
      : [`WITH found AS MATERIALIZED (SELECT ${free.map(quoted)} ${all} LIMIT ${MAX_FACET_ROWS})`]),
    [`SELECT NULL AS facet, NULL AS value, count(*) AS "rows" ${all}`, ...lines].join('\nUNION ALL\n'),
  ].join('\n');
  return { sql, params, whole: { sql, params: jsonOf(params) } };
}
