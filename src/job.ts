/**
 * The contract between an endpoint and the engine. A file in `jobs/` declares everything particular to its
 * endpoint as data; nothing else in the project names an endpoint.
 */

import { getTableColumns, sql } from 'drizzle-orm';
import {
  getTableConfig,
  getViewConfig,
  index,
  integer,
  type SQLiteColumnBuilderBase,
  type SQLiteTable,
  type SQLiteView,
  sqliteTable,
  sqliteView,
  text,
} from 'drizzle-orm/sqlite-core';
import type { z } from 'zod';

type Columns = Record<string, SQLiteColumnBuilderBase>;

/** The columns of the mirror's own that each version of a row has. */
const versionColumns = () => ({
  _key: text().notNull(),
  _first_seen_at: text().notNull(),
  _changed_at: text().notNull(),
  _walk_id: integer().notNull(),
});

/** Those that every mirrored table carries beside the columns of its dataset. Whether a row is held makes no version. */
const bookkeepingColumns = () => ({
  ...versionColumns(),
  _key: text().primaryKey(),
  _held_since: text(),
  _held_reason: text({ enum: ['unproven', 'mass', 'unkeyed'] }),
});

const validityColumns = () => ({
  _valid_from: text().notNull(),
  _valid_to: text().notNull(),
  _ended_by: text({ enum: ['update', 'delete'] }).notNull(),
});

/** What queries name to see the dataset. Its view is made with the columns that were discovered (`store/views.ts`). */
const shownTable = <const Name extends string, const Own extends Columns, const Last extends Columns>(
  name: Name,
  columns: Own,
  last: Last,
) => sqliteView(name, { ...columns, ...bookkeepingColumns(), ...last }).existing();

/** Where its rows lie, with their numbers. The few that are held are found without a look at all. */
const rowsTable = <const Name extends string, const Own extends Columns, const Last extends Columns>(
  name: Name,
  columns: Own,
  last: Last,
) =>
  sqliteTable(`${name}_rows`, { ...columns, ...bookkeepingColumns(), ...last }, (rows) => [
    index(`${name}_rows_held`).on(rows._held_since).where(sql.raw('_held_since IS NOT NULL')),
  ]);

/** Where its superseded versions lie, in the order in which they ended. */
const historyTable = <const Name extends string, const Own extends Columns, const Last extends Columns>(
  name: Name,
  columns: Own,
  last: Last,
) =>
  sqliteTable(
    `${name}_history_rows`,
    { ...columns, ...versionColumns(), ...validityColumns(), ...last },
    (history) => [index(`${name}_history_by_key`).on(history._key, history._valid_to)],
  );

/**
 * The tables of a dataset whose record shape is specified: its typed columns, named in SQL as they are here,
 * `extra` for properties that the contract does not list, and the history of superseded versions.
 */
export function mirrorTable<const Name extends string, const Own extends Columns>(name: Name, columns: Own) {
  const own = { ...columns, extra: text() };
  return {
    table: shownTable(name, own, {}),
    rows: rowsTable(name, own, {}),
    history: historyTable(name, own, {}),
  };
}

/**
 * The same of a dataset some of whose columns are volatile: kept current, but never a version, for they change while the
 * record does not. They lie in a narrow table of their own, so that a walk in which nothing else moved writes little.
 * A refused row without a key is known again by its other members, so volatile columns are named as the path of their
 * member is in snake_case.
 */
export function agingTable<
  const Name extends string,
  const Own extends Columns,
  const Volatile extends keyof Own & string,
>(name: Name, columns: Own, volatile: readonly Volatile[]) {
  const own = { ...columns, extra: text() };
  return {
    table: shownTable(name, own, {}),
    rows: rowsTable(name, without(own, volatile), {}),
    volatile: sqliteTable(`${name}_volatile`, { ...numberColumn(), ...only(columns, volatile) }),
    history: historyTable(name, own, {}),
  };
}

/** The number of the row in the other table: its rowid. */
const numberColumn = () => ({ _number: integer().primaryKey() });

function only<Of extends object, Name extends keyof Of>(of: Of, names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, of[name]])) as Pick<Of, Name>;
}

function without<Of extends object, Name extends keyof Of>(of: Of, names: readonly Name[]) {
  const left = Object.entries(of).filter(([name]) => !names.some((lacking) => lacking === name));
  return Object.fromEntries(left) as Omit<Of, Name>;
}

/** The tables of a dataset whose record shape is not specified: `_body` is the row's JSON as received, with plain names. */
export function rawTable<const Name extends string>(name: Name) {
  const body = { _body: text().notNull() };
  return {
    table: shownTable(name, {}, body),
    rows: rowsTable(name, {}, body),
    history: historyTable(name, {}, body),
  };
}

/** The tables of a dataset kept as append-only snapshots, one row a poll: `_body` is the response as received, with plain names. */
export function snapshotTable<const Name extends string>(name: Name) {
  const received = { _fetched_at: text().notNull(), _body: text().notNull() };
  return { table: shownTable(name, {}, received), rows: rowsTable(name, {}, received) };
}

type FilledByTheEngine = keyof ReturnType<typeof bookkeepingColumns> | 'extra';

/** What queries name to see every row of a dataset as it is now. */
type Shown = SQLiteView;

/** What the specification says of an endpoint's pages and rows. `Row` is a row that fits. */
export type Contract<Row, Table extends Shown> = {
  /** The page without `rows` and `pagination`. A page that breaks it halts the dataset. */
  page: z.ZodType;
  row: z.ZodType<Row>;
  key(row: Row): string;
  columns(row: Row): Omit<Table['$inferSelect'], FilledByTheEngine>;
};

/** A view that makes a dataset pleasant to report on; it stands in the database beside the tables. */
export type View = {
  /** In snake_case, as queries name it. */
  name: string;
  /** What it shows, in a sentence or two, for `docs/tables.md`. */
  about: string;
  /** The SELECT that it stands for. */
  sql: string;
  /** The same in the SQL of Postgres, where the mirror may be shipped to; without it, the view is not there. */
  postgres?: string;
  /** A query that shows its use. */
  example: string;
};

/** How an endpoint is read: page by page into rows, or as one response kept as a snapshot. */
export type Reading = 'walk' | 'snapshot';

/** How a query parameter selects rows. The specification names them and shows no rules: these are ours (docs/serve.md, "Filters"). */
export type Filter =
  /** By words: each is somewhere in the row. */
  | { by: 'text' }
  /**
   * By the field of its name, which is the value or has it among others.
   * @property values those that the specification lists; any are allowed where it lists none.
   * @property all the value that leaves every row.
   */
  | { by: 'field'; values?: readonly string[]; all?: string };

type Definition<Row, Table extends Shown> = {
  /** What the dataset is, in a sentence or two, for `docs/tables.md`. */
  about: string;
  /** Path below the base address, such as `/api/v1/news`. */
  path: string;
  /** The operation's name, where the specification gives it one. */
  operation?: string;
  /** The scope that the key needs, or null where any active key may call. */
  scope: string | null;
  /** `every 2m`, a cron pattern in UTC, or `off`; also the age that the copy is meant to stay below. */
  schedule: string;
  /** Worth of this dataset's freshness against the others' when calls are scarce; 1 unless given. */
  weight?: number;
  /** `walk` unless given. */
  reading?: Reading;
  /** Query parameters, beside those of paging, that select rows. */
  filters?: Readonly<Record<string, Filter>>;
  table: Table;
  rows: SQLiteTable;
  history?: SQLiteTable;
  /** Where some of its columns are volatile, see `agingTable`. */
  volatile?: SQLiteTable;
  /** Absent where the record shape is not specified. */
  contract?: Contract<Row, Table>;
  views?: readonly View[];
};

// biome-ignore lint/suspicious/noExplicitAny: the engine treats every dataset's rows alike; each job file is typed.
type AnyContract = Contract<any, any> & {
  /** The columns that are volatile. */
  volatile: readonly string[];
};

/** An endpoint as the engine sees it. */
export type Job = {
  /** The file's name, such as `ai-signals`. */
  name: string;
  about: string;
  path: string;
  operation?: string;
  scope: string | null;
  schedule: string;
  weight: number;
  reading: Reading;
  filters: Readonly<Record<string, Filter>>;
  table: Shown;
  /** Where its rows lie, with their numbers. */
  rows: SQLiteTable;
  /** Where its superseded versions lie, with theirs. */
  history: SQLiteTable | undefined;
  volatile: SQLiteTable | undefined;
  contract: AnyContract | undefined;
  views: readonly View[];
};

/** Declares an endpoint; the default export of a file in `jobs/`, which gives it its name. */
export function defineJob<Row, Table extends Shown>(definition: Definition<Row, Table>): Omit<Job, 'name'> {
  const { weight = 1, reading = 'walk', filters = {}, history, volatile, views = [], ...rest } = definition;
  const columns = volatile ? Object.keys(getTableColumns(volatile)) : [];
  const contract = rest.contract && {
    ...rest.contract,
    volatile: columns.filter((name) => name !== '_number'),
  };
  return { ...rest, weight, reading, filters, history, volatile, contract, views };
}

/** What queries name to see the dataset: a view. */
export function tableOf({ table }: Pick<Job, 'table'>): string {
  return getViewConfig(table).name;
}

/** The name of the table that holds its rows by their numbers. */
export function rowsOf(job: Pick<Job, 'rows'>): string {
  return getTableConfig(job.rows).name;
}

/** What queries name to see its history, where it has one: a view. */
export function historyOf(job: Pick<Job, 'table' | 'history'>): string | undefined {
  return job.history && `${tableOf(job)}_history`;
}

/** The name of the table that holds its versions by their numbers, where it has some. */
export function versionsOf(job: Pick<Job, 'history'>): string | undefined {
  return job.history && getTableConfig(job.history).name;
}

/** Their names, in the order of the table. */
export const bookkeeping: readonly string[] = Object.keys(bookkeepingColumns());

/** Those of them that each version has. */
export const versioned: readonly string[] = Object.keys(versionColumns());

/** What else a version has: from when to when, and what ended it. */
export const validity: readonly string[] = Object.keys(validityColumns());

/** The columns that are the dataset's own. */
export function ownColumnsOf({ table }: Pick<Job, 'table'>): string[] {
  return Object.keys(getViewConfig(table).selectedFields).filter((name) => !bookkeeping.includes(name));
}

/** Those of them in which a change makes a version. */
export function stableColumnsOf(job: Pick<Job, 'table' | 'contract'>): string[] {
  return ownColumnsOf(job).filter((name) => !job.contract?.volatile.includes(name));
}

/** The name of the table that holds its volatile columns by the numbers of rows, where it has some. */
export function volatileOf(job: Pick<Job, 'volatile'>): string | undefined {
  return job.volatile && getTableConfig(job.volatile).name;
}

/** What those who read the mirror need to know of a job. `table` is the view that queries name, `rows` where its rows lie. */
export type ListedJob = Pick<Job, 'name' | 'schedule' | 'weight' | 'scope'> & { table: string; rows: string };

export function listed(job: Job): ListedJob {
  const { name, schedule, weight, scope } = job;
  return { name, table: tableOf(job), rows: rowsOf(job), schedule, weight, scope };
}

/** What a mirrored column holds: text, numbers, booleans as 0 or 1, arrays and objects as JSON text. */
export type SqlValue = string | number | null;

/** Columns by name; those that are lacking are null. */
export type RowValues = Record<string, SqlValue>;
