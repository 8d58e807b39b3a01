/** What a file in `jobs/` declares of its endpoint, as data; nothing else in the project names an endpoint. */

import { sql } from 'drizzle-orm';
import {
  index,
  integer,
  type SQLiteColumnBuilderBase,
  type SQLiteTable,
  sqliteTable,
  text,
} from 'drizzle-orm/sqlite-core';
import type { z } from 'zod';
import { columnName, NUMBER, type Schema, storedName } from './base/properties.ts';
import {
  columnsOf,
  declaredColumns,
  type RowValues,
  rowJsonSql,
  schemaOf,
  valueReader,
} from './job/columns.ts';

export type { Schema } from './base/properties.ts';
export type { RowValues, SqlValue } from './job/columns.ts';

/** A view that makes reports on a dataset easier. */
export type View = {
  /** In snake_case, as queries name it. */
  name: string;
  /** What it shows, in a sentence or two, for `docs/tables.md`. */
  about: string;
  /** The SELECT that it stands for. */
  sql: string;
  /** The same in the SQL of Postgres, for `ship`; without it, Postgres does not have the view. */
  postgres?: string;
  /** A query that shows its use. */
  example: string;
};

/** How an endpoint is read: page by page into rows, or as one response kept as a snapshot. */
export type Reading = 'list' | 'response';

/** How a query parameter selects rows. The specification only names the parameters: the rules are ours (docs/serve.md, "Filters"). */
export type Filter =
  /** By words, all of which are in the row. */
  | { by: 'text' }
  /**
   * By the field of its name, which equals the value or contains it.
   * @property values those that the specification lists; any value where it lists none.
   * @property all the value that selects every row.
   */
  | { by: 'field'; values?: readonly string[]; all?: string };

/** What the declaration of an endpoint says. */
type Definition<Row> = {
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
  /** `list` unless given. */
  reading?: Reading;
  /** Query parameters, beside those of paging, that select rows. */
  filters?: Readonly<Record<string, Filter>>;
  /** What the specification says of pages and rows; without it, rows are kept as received and their fields are discovered. */
  contract?: {
    /** The page without `rows` and `pagination`. A page that breaks it halts the dataset. */
    page: z.ZodType;
    row: z.ZodType<Row>;
    key(row: Row): string;
    /**
     * Paths of properties that change while the record does not, such as `quality.ageSeconds`. They are kept current, make no version,
     * and lie in a narrow table, so that a walk in which nothing else changed writes little.
     */
    volatile?: readonly string[];
  };
  views?: readonly View[];
  /** The columns that the page shows first; found by their names and values unless given. */
  shown?: readonly string[];
};

/** A dataset without the code of its contract. The build writes it down for readers (`job/list.ts`). */
export type ListedJob = Required<
  Pick<
    Definition<unknown>,
    'about' | 'path' | 'scope' | 'schedule' | 'weight' | 'reading' | 'filters' | 'views' | 'shown'
  >
> & {
  /** The file's name, such as `ai-signals`. */
  name: string;
  operation: string | null;
  /** The view that queries name, and the table in which its rows lie under their numbers. */
  table: string;
  rows: string;
  /** The same for its superseded versions; null for a dataset that is kept as snapshots. */
  history: string | null;
  versions: string | null;
  /** The columns that are the dataset's own, and those of them that make no version: they lie in the table `volatileTable`. */
  columns: readonly string[];
  volatile: readonly string[];
  volatileTable: string | null;
  /** Of the page without `rows` and `pagination`, and of a row; null where neither is specified. */
  schemas: { page: Schema; row: Schema } | null;
  /**
   * The members that its pages have beside `rows` and `pagination`, with the value that the contract fixes; null for
   * `generatedAt`, which tells of the snapshot.
   */
  page: Readonly<Record<string, string | null>>;
  /** SQL for FROM in place of `table`, for rows with their number as `_number`. */
  fromWithNumber: string;
  /** SQL for the JSON of a row as the API sent it, over its columns in something named `row`. */
  rowJson: string;
};

// biome-ignore lint/suspicious/noExplicitAny: the engine treats every dataset's rows alike; each job file is typed.
type Contract = Required<NonNullable<Definition<any>['contract']>> & {
  /** The row in its columns. */
  columns(row: unknown): RowValues;
};

/** An endpoint as the engine sees it. */
export type Job = ListedJob & {
  contract: Contract | undefined;
  /** As Drizzle declares them, for the migrations and for writing. */
  tables: { rows: SQLiteTable; versions?: SQLiteTable; volatile?: SQLiteTable };
};

/** Declares an endpoint; the default export of the file `jobs/<name>.ts`. */
export function defineJob<Row>(name: string, definition: Definition<Row>): Job {
  const {
    contract,
    operation = null,
    weight = 1,
    reading = 'list',
    filters = {},
    views = [],
    shown = [],
  } = definition;
  const { about, path, scope, schedule } = definition;
  const table = name.replaceAll('-', '_');
  const schemas = contract ? { page: schemaOf(contract.page), row: schemaOf(contract.row) } : null;
  const specified = schemas ? columnsOf(schemas.row) : [];
  const volatile = (contract?.volatile ?? []).map((path) => columnName(path.split('.')));
  const own = schemas ? { ...declaredColumns(specified), extra: text() } : {};
  const received = schemas
    ? {}
    : { ...(reading === 'response' && { _fetched_at: text().notNull() }), _body: text().notNull() };
  const columns = [...Object.keys(own), ...Object.keys(received)];
  const isVolatile = (column: string) => volatile.includes(column);
  if (!volatile.every((column) => columns.includes(column)))
    throw new Error(`a volatile column is none of ${columns.join(', ')}`);
  const rows = `_${table}_rows`;
  const versions = reading === 'list' ? `_${table}_history_rows` : null;
  const volatileTable = volatile.length > 0 ? `_${table}_volatile` : null;
  return {
    ...{ name, about, path, operation, scope, schedule, weight, reading, filters, views, shown },
    ...{ table, rows, history: versions && `${table}_history`, versions },
    ...{ columns, volatile, volatileTable, schemas },
    page: schemas ? membersOfPage(schemas.page) : {},
    fromWithNumber: fromWithNumberSql(rows, columns, { table: volatileTable, columns: volatile }),
    rowJson: schemas ? rowJsonSql(schemas.row) : 'row."_body"',
    contract: contract && { ...contract, volatile, columns: valueReader(specified) },
    tables: {
      rows: rowsTable(
        rows,
        pick(own, (name) => !isVolatile(name)),
        received,
      ),
      ...(versions && { versions: versionsTable(versions, own, received) }),
      ...(volatileTable && {
        volatile: sqliteTable(volatileTable, { number: integer().primaryKey(), ...pick(own, isVolatile) }),
      }),
    },
  };
}

type Columns = Record<string, SQLiteColumnBuilderBase>;

const numberColumn = () => ({ [NUMBER]: integer().primaryKey({ autoIncrement: true }) });

/** The mirror's own columns in each version of a row. */
const versionColumns = () => ({
  _key: text().notNull(),
  _first_seen_at: text().notNull(),
  _changed_at: text().notNull(),
  _walk_id: integer().notNull(),
});

/** The mirror's own columns in every table of rows. Whether a row is held makes no version. */
const bookkeepingColumns = () => ({
  ...versionColumns(),
  _key: text().notNull().unique(),
  _held_since: text(),
  _held_reason: text({ enum: ['unproven', 'mass', 'unkeyed'] }),
});

const validityColumns = () => ({
  _valid_from: text().notNull(),
  _valid_to: text().notNull(),
  _ended_by: text({ enum: ['update', 'delete'] }).notNull(),
});

/** Their names, in the order of the table. */
export const bookkeeping: readonly string[] = Object.keys(bookkeepingColumns());

/** Those of them that each version has. */
export const versioned: readonly string[] = Object.keys(versionColumns());

/** What else a version has: from when to when, and what ended it. */
export const validity: readonly string[] = Object.keys(validityColumns());

const stored = (own: Columns): Columns =>
  Object.fromEntries(Object.entries(own).map(([name, column]) => [storedName(name), column]));

/** The table of rows. The index finds the few that are held. */
const rowsTable = (name: string, own: Columns, received: Columns): SQLiteTable =>
  sqliteTable(name, { ...numberColumn(), ...stored(own), ...bookkeepingColumns(), ...received }, (rows) => [
    index(`${name}_held`).on(rows._held_since).where(sql.raw('_held_since IS NOT NULL')),
  ]);

/** The table of superseded versions, each with the number of its row (`_row`). The second index finds the removed rows. */
const versionsTable = (name: string, own: Columns, received: Columns): SQLiteTable =>
  sqliteTable(
    name,
    {
      ...numberColumn(),
      ...stored(own),
      ...versionColumns(),
      ...validityColumns(),
      _row: integer().notNull(),
      ...received,
    },
    (versions) => [
      index(`${name}_by_key`).on(versions._key, versions._valid_to),
      index(`${name}_removed`).on(versions._row).where(sql.raw(`_ended_by = 'delete'`)),
    ],
  );

const pick = (columns: Columns, isPicked: (name: string) => boolean): Columns =>
  Object.fromEntries(Object.entries(columns).filter(([name]) => isPicked(name)));

function membersOfPage({ properties = {} }: Schema): ListedJob['page'] {
  const members = Object.entries(properties).map(([name, { const: value = null }]) => {
    if (value === null && name !== 'generatedAt') throw new Error(`nothing says what ${name} of a page is`);
    return [name, value];
  });
  return Object.fromEntries(members);
}

function fromWithNumberSql(
  rows: string,
  columns: readonly string[],
  volatile: { table: string | null; columns: readonly string[] },
): string {
  const shown = columns.map((column) => {
    const table = volatile.columns.includes(column) ? 'moving' : 'stored';
    return `${table}."${storedName(column)}" AS "${column}"`;
  });
  const own = bookkeeping.map((column) => `stored."${column}"`);
  const join = volatile.table
    ? ` LEFT JOIN "${volatile.table}" AS moving ON moving.number = stored.number`
    : '';
  return `(SELECT stored.number AS _number, ${[...shown, ...own].join(', ')} FROM "${rows}" AS stored${join})`;
}

/** The columns in which a change makes a version. */
export const stableColumnsOf = ({ columns, volatile }: ListedJob): string[] =>
  columns.filter((name) => !volatile.includes(name));

/** What is written down of a job. */
export function listed({ contract: _, tables: __, ...known }: Job): ListedJob {
  return known;
}
