/**
 * The contract between an endpoint and the engine. A file in `jobs/` declares everything particular to its
 * endpoint as data; nothing else in the project names an endpoint.
 */

import { getTableColumns } from 'drizzle-orm';
import {
  getTableConfig,
  index,
  integer,
  type SQLiteColumnBuilderBase,
  type SQLiteTable,
  sqliteTable,
  text,
} from 'drizzle-orm/sqlite-core';
import type { z } from 'zod';

type Columns = Record<string, SQLiteColumnBuilderBase>;

/** The columns that every mirrored table carries beside those of its dataset. */
const bookkeepingColumns = () => ({
  _key: text().primaryKey(),
  _first_seen_at: text().notNull(),
  _changed_at: text().notNull(),
  _walk_id: integer().notNull(),
});

const validity = () => ({
  _key: text().notNull(),
  _first_seen_at: text().notNull(),
  _changed_at: text().notNull(),
  _walk_id: integer().notNull(),
  _valid_from: text().notNull(),
  _valid_to: text().notNull(),
  _ended_by: text({ enum: ['update', 'delete'] }).notNull(),
});

function withHistory<const Name extends string, const Own extends Columns>(name: Name, columns: Own) {
  return {
    table: sqliteTable(name, { ...columns, ...bookkeepingColumns() }),
    history: sqliteTable(`${name}_history`, { ...columns, ...validity() }, (history) => [
      index(`${name}_history_by_key`).on(history._key, history._valid_to),
    ]),
  };
}

/**
 * The tables of a dataset whose record shape is specified: its typed columns, named in SQL as they are here,
 * `extra` for properties that the contract does not list, and the history of superseded versions.
 */
export function mirrorTable<const Name extends string, const Own extends Columns>(name: Name, columns: Own) {
  return withHistory(name, { ...columns, extra: text() });
}

/** The tables of a dataset whose record shape is not specified: `_body` is the row's JSON as received, with plain names. */
export function rawTable<const Name extends string>(name: Name) {
  return withHistory(name, { _body: text().notNull() });
}

/** The table of a dataset kept as append-only snapshots, one row a poll: `_body` is the response as received, with plain names. */
export function snapshotTable<const Name extends string>(name: Name) {
  return {
    table: sqliteTable(name, {
      _fetched_at: text().notNull(),
      _body: text().notNull(),
      ...bookkeepingColumns(),
    }),
  };
}

type FilledByTheEngine = '_key' | '_first_seen_at' | '_changed_at' | '_walk_id' | 'extra';

/** What the specification says of an endpoint's pages and rows. `Row` is a row that fits. */
export type Contract<Row, Table extends SQLiteTable> = {
  /** The page without `rows` and `pagination`. A page that breaks it halts the dataset. */
  page: z.ZodType;
  row: z.ZodType<Row>;
  key(row: Row): string;
  columns(row: Row): Omit<Table['$inferSelect'], FilledByTheEngine>;
  /**
   * Columns that are kept current but never make a version: they change while the record does not. A refused row
   * without a key is known again by its other members, so name them as the path of their member is in snake_case.
   */
  volatile: readonly (keyof Table['$inferSelect'] & string)[];
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

type Definition<Row, Table extends SQLiteTable> = {
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
  history?: SQLiteTable;
  /** Absent where the record shape is not specified. */
  contract?: Contract<Row, Table>;
  views?: readonly View[];
};

// biome-ignore lint/suspicious/noExplicitAny: the engine treats every dataset's rows alike; each job file is typed.
type AnyContract = Contract<any, any>;

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
  table: SQLiteTable;
  history: SQLiteTable | undefined;
  contract: AnyContract | undefined;
  views: readonly View[];
};

/** Declares an endpoint; the default export of a file in `jobs/`, which gives it its name. */
export function defineJob<Row, Table extends SQLiteTable>(
  definition: Definition<Row, Table>,
): Omit<Job, 'name'> {
  const { weight = 1, reading = 'walk', filters = {}, history, contract, views = [], ...rest } = definition;
  return { ...rest, weight, reading, filters, history, contract, views };
}

/** The name of the job's table in SQL. */
export function tableOf(job: Pick<Job, 'table'>): string {
  return getTableConfig(job.table).name;
}

/** The name of its history, where it has one. */
export function historyOf(job: Pick<Job, 'history'>): string | undefined {
  return job.history && getTableConfig(job.history).name;
}

/** Their names, in the order of the table. */
export const bookkeeping: readonly string[] = Object.keys(bookkeepingColumns());

/** The columns that are the dataset's own. */
export function ownColumnsOf(job: Pick<Job, 'table'>): string[] {
  return Object.keys(getTableColumns(job.table)).filter((name) => !bookkeeping.includes(name));
}

/** What those who read the mirror need to know of a job. */
export type ListedJob = Pick<Job, 'name' | 'schedule' | 'weight' | 'scope'> & { table: string };

export function listed(job: Job): ListedJob {
  const { name, schedule, weight, scope } = job;
  return { name, table: tableOf(job), schedule, weight, scope };
}
