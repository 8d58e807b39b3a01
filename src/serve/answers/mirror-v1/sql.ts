/**
 * A question as SQL. Values are always parameters; names are those of the dataset's own columns, quoted. Columns are compared
 * and shown as what they hold: numbers, texts, booleans, JSON, or several of these (`mixed`).
 */

import { didYouMean } from '../../../base/near.ts';
import type { ListedJob } from '../../../job/list.ts';
import { isHeldColumn, type Kind, kindsOf } from '../../../reading/columns.ts';
import { rowsAt } from '../../../reading/moment.ts';
import { type Connection, quoted } from '../../../store/read.ts';
import { badParameter, QueryError } from './errors.ts';
import type { Condition, Field, Filter, OrderTerm, ReadRequest, SelectItem } from './parse.ts';

/** A dataset that is a list. */
export type ListDataset = ListedJob & { history: string; versions: string };

export type Column = {
  readonly name: string;
  readonly kind: 'text' | 'number' | 'boolean' | 'json' | 'mixed';
  /** Where `_body` holds the value, of a discovered column. */
  readonly path: string | null;
  /** Whether digits are lost in the column that `_body` has: a whole number beyond 2^53. */
  readonly isLong: boolean;
  /** Whether each value is shown as SQLite has it: a number, or a text. */
  readonly isPlain?: boolean;
};

/** What a cell is in SQLite: JSON that is written as it is (`raw`), JSON that is written as text (`rawText`), or a value. */
export type Shape = 'text' | 'number' | 'boolean' | 'raw' | 'rawText';

export type SqlValue = string | number | bigint;
type Params = Record<string, SqlValue>;
export type Sql = { readonly sql: string; readonly params: Params };

/** SQL for the rows of an answer, and for their number without limit and offset. */
export type RowsSql = {
  readonly rows: Sql;
  readonly count: Sql;
  readonly columns: readonly { readonly name: string; readonly shape: Shape }[];
};

/** The columns of a view of the dataset: of its rows, or of its history. */
export function columnsOf(connection: Connection, job: ListDataset, view: string): Column[] {
  const kinds = kindsOf(connection, job);
  const fields = connection
    .prepare<[string], { column: string; path: string }>('SELECT "column", path FROM fields WHERE job = ?')
    .all(job.name);
  const paths = new Map(job.schemas ? [] : fields.map(({ column, path }) => [column, path]));
  return connection
    .prepare<[string], { name: string; type: string }>('SELECT name, type FROM pragma_table_xinfo(?)')
    .all(view)
    .map(({ name, type }) => {
      const kind = kinds.get(name) ?? (/^(?:INTEGER|REAL)$/i.test(type) ? 'double precision' : 'text');
      return { name, kind: kindOf(kind), path: paths.get(name) ?? null, isLong: kind === 'numeric' };
    });
}

function kindOf(kind: Kind): Column['kind'] {
  if (kind === 'boolean' || kind === 'json' || kind === 'mixed') return kind;
  return kind === 'bigint' || kind === 'double precision' || kind === 'numeric' ? 'number' : 'text';
}

/** What the rows are selected from. */
export type Source = {
  /** SQL behind FROM. */
  readonly from: string;
  readonly columns: readonly Column[];
  /** SQL that orders what no other order does. */
  readonly ties: readonly string[];
  /** Of `from`. */
  readonly params: Params;
};

export const presentRows = (job: ListDataset, columns: readonly Column[]): Source => ({
  from: quoted(job.table),
  columns,
  ties: ['_key'],
  params: {},
});

/** The rows as they were. @param at ISO 8601. */
export function pastRows(
  { table, history }: Pick<ListDataset, 'table' | 'history'>,
  columns: readonly Column[],
  at: string,
): Source {
  const present = columns.map(({ name }) => name);
  // The history has all of them but what is held.
  const past = new Set(present.filter((name) => !isHeldColumn(name)));
  const from = rowsAt({ table: quoted(table), history: quoted(history) }, { present, past }, ':at');
  return { from: `(${from})`, columns, ties: ['_key'], params: { at } };
}

/** The rows of a view over the dataset, see `analystViewsOf`. */
export function viewRows(connection: Connection, job: ListDataset, view: string): Source {
  const columns = columnsOf(connection, job, view).map((column) =>
    PLAIN.has(column.name) && !view.endsWith('_current')
      ? { ...column, kind: 'mixed' as const, path: null, isLong: false, isPlain: true }
      : column,
  );
  const ties = columns.filter(({ name }) => /^(seq|_key|id|column|position|version)$/.test(name));
  return { from: quoted(view), columns, ties: ties.map(({ name }) => quoted(name)), params: {} };
}

/** Columns of such views that hold values of other columns. */
const PLAIN: ReadonlySet<string> = new Set(['value', 'old', 'new']);

/** The rows of the view `freshness` of some datasets. */
export function freshnessOf(connection: Connection, jobs: readonly Pick<ListDataset, 'name'>[]): Source {
  const columns = connection
    .prepare<[], { name: string }>("SELECT name FROM pragma_table_xinfo('freshness')")
    .all()
    .map(({ name }): Column => {
      const kind = /^(?:rows|held|.*_seconds)$/.test(name) ? 'number' : 'text';
      return { name, kind, path: null, isLong: false };
    });
  return {
    from: '(SELECT * FROM freshness WHERE job IN (SELECT value FROM json_each(:jobs)))',
    columns,
    ties: ['job'],
    params: { jobs: JSON.stringify(jobs.map(({ name }) => name)) },
  };
}

/** The one row of a source that has the key. */
export const rowOf = (source: Source, key: string): Source => ({
  ...source,
  from: `(SELECT * FROM ${source.from} WHERE _key = :key)`,
  params: { ...source.params, key },
});

/** The versions of one row, the present one last. @param columns those of the history. @param at ISO 8601; null for now. */
export function versionsOfRow(
  job: ListDataset,
  columns: readonly Column[],
  key: string,
  at: string | null,
): Source {
  const present = columns.map(({ name }) =>
    name === '_valid_from'
      ? '_changed_at AS _valid_from'
      : /^_(?:valid_to|ended_by)$/.test(name)
        ? `NULL AS ${name}`
        : quoted(name),
  );
  const past = columns.map(({ name }) =>
    at !== null && /^_(?:valid_to|ended_by)$/.test(name)
      ? `CASE WHEN _valid_to <= :at THEN ${name} END`
      : quoted(name),
  );
  const by = (column: string) => (at === null ? '' : ` AND ${column} <= :at`);
  return {
    from: `(SELECT ${present} FROM ${quoted(job.table)} WHERE _key = :key${by('_changed_at')}
      UNION ALL SELECT ${past} FROM ${quoted(job.history)} WHERE _key = :key${by('_valid_from')})`,
    columns,
    ties: ['_valid_from', '_valid_to IS NULL', '_valid_to'],
    params: at === null ? { key } : { key, at },
  };
}

/**
 * @param limit how many rows at most.
 * @throws QueryError for a name that no column has, and for a value or an operator that a column does not take.
 */
export function rowsSql(source: Source, request: ReadRequest, limit: number): RowsSql {
  const params: Params = { ...source.params };
  const bind = binder(params);
  const columnOf = columnFinder(source);
  const where = request.filters.map((filter) => filterSql(filter, columnOf, bind)).join(' AND ');
  const from = `FROM ${source.from}${where && ` WHERE ${where}`}`;
  const count = { sql: `SELECT count(*) AS total ${from}`, params: { ...params } };
  const shown = selected(request.select, source, columnOf, bind);
  const order = [...request.order.map((term) => orderSql(term, columnOf, bind)), ...source.ties];
  // A bare parameter of LIMIT would have SQLite prepare the statement anew for each value.
  const part = `LIMIT ${bind(limit)} + 0 OFFSET ${bind(request.offset)} + 0`;
  const sql = `SELECT ${shown.map(({ sql }) => sql)} ${from} ORDER BY ${order} ${part}`;
  return { rows: { sql, params }, count, columns: shown.map(({ name, shape }) => ({ name, shape })) };
}

/** All of these columns, as they stand behind SELECT. */
export function columnsSql(source: Pick<Source, 'columns'>): Sql & Pick<RowsSql, 'columns'> {
  const params: Params = {};
  const shown = selected(null, source, columnFinder(source), binder(params));
  return {
    sql: shown.map(({ sql }) => sql).join(', '),
    params,
    columns: shown.map(({ name, shape }) => ({ name, shape })),
  };
}

/** The conditions and the order of a question in SQL that every SQLite runs: for people, who take it along. Adds to `params`. */
export function plainClauses(
  source: Pick<Source, 'columns' | 'ties'>,
  { filters, order }: Pick<ReadRequest, 'filters' | 'order'>,
  params: Params,
): { conditions: string[]; order: string[] } {
  const [columnOf, bind] = [columnFinder(source), binder(params)];
  return {
    conditions: filters.map((filter) => filterSql(filter, columnOf, bind, true)),
    order: [...order.map((term) => orderSql(term, columnOf, bind)), ...source.ties],
  };
}

type ColumnFinder = (name: string) => Column;
type Bind = (value: SqlValue) => string;

/** A question may have a thousand values: to count those before, each time, would take as long as all else. */
function binder(params: Params): Bind {
  let bound = Object.keys(params).length;
  return (value) => {
    bound += 1;
    params[`p${bound}`] = value;
    return `:p${bound}`;
  };
}

/** @throws QueryError for a name that none of the columns has. */
export function columnFinder({ columns }: Pick<Source, 'columns'>): ColumnFinder {
  const byName = new Map(columns.map((column) => [column.name, column]));
  return (name) => {
    const found = byName.get(name);
    if (found) return found;
    const near = didYouMean(name, [...byName.keys()], '');
    throw new QueryError(
      400,
      '42703',
      `column ${name} does not exist`,
      undefined,
      near === '' ? columnsHint(columns) : `${near.charAt(0).toUpperCase()}${near.slice(1)}`,
    );
  };
}

/** Those of a view stand nowhere else. */
const columnsHint = (columns: readonly Column[]) =>
  columns.length > 20
    ? 'See /mirror/v1/datasets for the columns.'
    : `There are ${columns.map(({ name }) => name).join(', ')}.`;

/** SQL for a value, and what it is. */
type Value = {
  readonly sql: string;
  readonly kind: Column['kind'];
  /** SQL for its type in JSON, and for its JSON; null where only the column has it. */
  readonly json: { readonly type: string; readonly text: string } | null;
};

function sqlValueOf(field: Field, columnOf: ColumnFinder, bind: Bind): Value {
  const column = columnOf(field.column);
  const { name, kind, path } = column;
  if (field.path.length === 0 && (column.isPlain || (kind !== 'mixed' && !column.isLong)))
    return { sql: quoted(name), kind, json: null };
  if (field.path.length > 0 && kind !== 'json' && kind !== 'mixed')
    throw new QueryError(400, '42883', `column ${name} holds no JSON: it has no members`);
  const at = bind((path ?? '$') + field.path.map(step).join(''));
  const base = path === null ? quoted(name) : '"_body"';
  const json = { type: `json_type(${base}, ${at})`, text: `(${base} -> ${at})` };
  // SQLite shows true as 1, which a number may be, too.
  const shown = `CASE ${json.type} WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE ${base} ->> ${at} END`;
  return field.path.length === 0 && kind === 'number'
    ? { sql: quoted(name), kind, json }
    : { sql: `(${shown})`, kind: 'mixed', json };
}

/** A step of a path in JSON; a number counts items, from the end where it is negative. */
function step(item: string | number): string {
  if (typeof item === 'number') return item < 0 ? `[#${item}]` : `[${item}]`;
  return `.${JSON.stringify(item)}`;
}

function selected(
  select: ReadRequest['select'],
  { columns }: Pick<Source, 'columns'>,
  columnOf: ColumnFinder,
  bind: Bind,
): { name: string; shape: Shape; sql: string }[] {
  const wholeColumn = (column: string): SelectItem => ({
    alias: null,
    field: { column, path: [], isText: false },
  });
  const items = (select ?? ['*']).flatMap((item) =>
    item === '*' ? columns.map(({ name }) => wholeColumn(name)) : [item],
  );
  const names = new Set<string>();
  return items.flatMap((item) => {
    if (item === '*') return [];
    const { alias, field } = item;
    const name = alias ?? nameOf(field);
    if (names.has(name)) {
      if (alias === null && field.path.length === 0) return [];
      throw badParameter(
        `two columns of the answer are named ${name}`,
        undefined,
        'Name one of them: alias:column.',
      );
    }
    names.add(name);
    return [{ name, ...shownAs(field, sqlValueOf(field, columnOf, bind)) }];
  });
}

/** As PostgREST names it: the last member of a path. */
const nameOf = ({ column, path }: Field) =>
  path.findLast((item): item is string => typeof item === 'string') ?? column;

function shownAs({ isText }: Field, { sql, kind, json }: Value): { shape: Shape; sql: string } {
  if (json) return { shape: isText ? 'rawText' : 'raw', sql: json.text };
  if (kind === 'mixed') return { shape: 'text', sql };
  return { shape: kind === 'json' ? 'raw' : kind, sql };
}

function orderSql({ field, isDescending, nulls }: OrderTerm, columnOf: ColumnFinder, bind: Bind): string {
  const { sql } = sqlValueOf(field, columnOf, bind);
  return `${sql} ${isDescending ? 'DESC' : 'ASC'} NULLS ${nulls === 'first' ? 'FIRST' : 'LAST'}`;
}

/** @param isPlain without functions of ours. */
function filterSql(filter: Filter, columnOf: ColumnFinder, bind: Bind, isPlain = false): string {
  const sql =
    'members' in filter
      ? filter.members
          .map((member) => filterSql(member, columnOf, bind, isPlain))
          .join(filter.join === 'or' ? ' OR ' : ' AND ')
      : conditionSql(filter, sqlValueOf(filter.field, columnOf, bind), bind, isPlain);
  return filter.isNegated ? `NOT (${sql})` : `(${sql})`;
}

const comparisons = { eq: '=', neq: '<>', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

function conditionSql(condition: Condition, value: Value, bind: Bind, isPlain: boolean): string {
  const { sql, kind, json } = value;
  switch (condition.operator) {
    case 'is':
      if (condition.value === 'null') return `${sql} IS NULL`;
      if (kind === 'boolean') return `${sql} IS ${condition.value === 'true' ? 1 : 0}`;
      if (kind === 'mixed' && json) return `${json.type} IS '${condition.value}'`;
      throw new QueryError(
        400,
        '42804',
        `column ${condition.field.column} holds no booleans: is.${condition.value} cannot be asked of it`,
      );
    case 'in':
      return inSql(condition.values, value, condition.field.column, bind);
    case 'cs':
      if (kind !== 'json' && kind !== 'mixed')
        throw new QueryError(400, '42883', `column ${condition.field.column} holds no lists`);
      if (isPlain) return holdsSql(json?.text ?? sql, condition.values, bind);
      return `mirror_contains(${json?.text ?? sql}, ${bind(JSON.stringify(condition.values))})`;
    case 'like':
    case 'ilike':
      if (kind !== 'text' && kind !== 'json' && kind !== 'mixed')
        throw new QueryError(
          400,
          '42883',
          `column ${condition.field.column} holds no text: ${condition.operator} cannot be asked of it`,
        );
      if (isPlain) return `${sql} LIKE ${bind(condition.value.replaceAll('*', '%'))} ESCAPE '\\'`;
      return `mirror_${condition.operator}(${sql}, ${bind(condition.value)})`;
    default:
      return compareSql(condition.operator, condition.value, value, condition.field.column, bind);
  }
}

/** Whether a list of JSON holds all of the values. */
const holdsSql = (list: string, values: readonly string[], bind: Bind) =>
  values
    .map((value) => `EXISTS (SELECT 1 FROM json_each(${list}) WHERE value = ${bind(value)})`)
    .join(' AND ') || '1';

function compareSql(
  operator: keyof typeof comparisons,
  text: string,
  { sql, kind }: Value,
  column: string,
  bind: Bind,
): string {
  const sign = comparisons[operator];
  if (kind !== 'mixed') return `${sql} ${sign} ${bind(constantOf(text, kind, column))}`;
  const number = numberOf(text);
  // A text is never equal to a number, and neither more nor less.
  const asNumber = number === undefined ? (operator === 'neq' ? '1' : '0') : `${sql} ${sign} ${bind(number)}`;
  return `CASE typeof(${sql}) WHEN 'null' THEN NULL WHEN 'text' THEN ${sql} ${sign} ${bind(text)} ELSE ${asNumber} END`;
}

function inSql(texts: readonly string[], { sql, kind }: Value, column: string, bind: Bind): string {
  const isIn = (values: readonly SqlValue[]) => `${sql} IN (${values.map(bind)})`;
  if (kind !== 'mixed') return isIn(texts.map((text) => constantOf(text, kind, column)));
  const numbers = texts.flatMap((text) => numberOf(text) ?? []);
  return `CASE typeof(${sql}) WHEN 'null' THEN NULL WHEN 'text' THEN ${isIn(texts)} ELSE ${isIn(numbers)} END`;
}

/** A value as the column holds it. */
function constantOf(text: string, kind: Column['kind'], column: string): SqlValue {
  if (kind === 'number') {
    const number = numberOf(text);
    if (number === undefined) throw invalid('a number', text, column);
    return number;
  }
  if (kind !== 'boolean') return text;
  if (/^(?:true|false)$/i.test(text)) return text.toLowerCase() === 'true' ? 1n : 0n;
  throw invalid('true or false', text, column);
}

const invalid = (expected: string, text: string, column: string) =>
  new QueryError(
    400,
    '22P02',
    `column ${column} takes ${expected}, not ${JSON.stringify(text.slice(0, 40))}`,
  );

/** A whole number keeps its digits as far as SQLite has them. */
function numberOf(text: string): SqlValue | undefined {
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return undefined;
  const isWhole = /^[+-]?\d{1,19}$/.test(text);
  const whole = isWhole ? BigInt(text.replace('+', '')) : 0n;
  return isWhole && BigInt.asIntN(64, whole) === whole ? whole : Number(text);
}
