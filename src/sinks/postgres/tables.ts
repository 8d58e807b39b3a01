/** Which tables Postgres has of a job, each with the rows of one of the mirror. */

import { toError } from '../../errors.ts';
import type { ListedJob } from '../../job-list.ts';
import {
  type Column,
  columnsOfJob,
  isColumnType,
  type Kind,
  type Mirrored,
  typedColumns,
} from '../../reading/columns.ts';
import { type Connection, quoted } from '../../store/read.ts';
import type { Postgres } from './client.ts';

export type Table = Mirrored & {
  /** Over there. */
  name: string;
  /** Its primary key over there. The first of them says to which range a row belongs. */
  key: readonly string[];
  /** In a table of all jobs: the one whose rows are meant. */
  job?: string;
  /** All its rows are written again and again. */
  isRewritten?: true;
  /** The names of all columns over there, as they lie in a row; those of `columns` where it was made just now. */
  layout?: readonly string[];
};

/** The tables of a dataset as they are named and read: its rows, and its history where it has one. */
export function tablesOfJob(
  connection: Connection,
  job: ListedJob,
): { rows: Table; history: Table | undefined } {
  const { rows, history } = columnsOfJob(connection, job);
  return {
    rows: { ...rows, name: rows.of, key: ['_key'] },
    history: history && { ...history, name: `${job.history}`, key: ['_key', '_valid_from'] },
  };
}

/** What the mirror keeps about itself, of one job. */
export function ownTables(
  connection: Connection,
  job: string,
): Record<'walks' | 'fields' | 'datasets', Table> {
  const table = (name: string, key: readonly string[], of = name): Table => ({
    name,
    of,
    columns: typedColumns(connection, of, (column, declared) =>
      isOwnTime(column, declared) ? 'timestamp with time zone' : ownKinds[column],
    ).filter((column) => !forTheProgram.has(column.name)),
    key,
    job,
  });
  return {
    walks: table('walks', ['id']),
    fields: table('fields', ['column', 'job']),
    datasets: table('datasets', ['job'], '_datasets'),
  };
}

/** What only the program reads. */
const forTheProgram: ReadonlySet<string> = new Set([
  ...['memory', 'shape', 'motions', 'order_seq', 'pages_of', 'last_number', 'orders_from'],
]);

const ownKinds: Readonly<Record<string, Kind>> = {
  ...{ anomalies: 'json', types: 'json' },
  ...{ nullable: 'boolean', generated_at: 'received time' },
};

const isOwnTime = (column: string, declared: string) =>
  declared === 'TEXT' && /(_at|_until|^history_from)$/.test(column) && column !== 'generated_at';

type MadeTable = {
  /** The table as it is there now, without columns that could not be made. */
  table: Table;
  /** Whether it was made just now: `fillNewTable` gives it rows and key. */
  isNew: boolean;
  /** Whether columns came or changed, or the key was gone: rows that are there may not be those of the mirror. */
  isChanged: boolean;
  /** What could not be done, in a line each. */
  problems: string[];
};

/** Makes each table, or gives it the columns and the key that it lacks. Call it in a transaction. */
export async function makeTables(postgres: Postgres, tables: readonly Table[]): Promise<MadeTable[]> {
  const present = await columnsThere(
    postgres,
    tables.map(({ name }) => name),
  );
  const keyed = await tablesWithKey(postgres, tables);
  const made: MadeTable[] = [];
  for (const table of tables) {
    const one = await makeTable(postgres, table, present.get(table.name));
    const lacksKey = !one.isNew && !keyed.has(table.name);
    if (lacksKey) await makeKey(postgres, table);
    made.push({ ...one, isChanged: one.isChanged || lacksKey });
  }
  return made;
}

/** Those of the tables that have a unique index over their key, without which rows cannot replace those of the same key. */
async function tablesWithKey(postgres: Postgres, tables: readonly Table[]): Promise<Set<string>> {
  const keys = await postgres.query<{ table: string; columns: string[] }>(
    `SELECT of.relname AS "table", array_agg(attname::text) AS columns
     FROM pg_index JOIN pg_class AS of ON of.oid = indrelid
       JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
     WHERE of.relnamespace = current_schema()::regnamespace AND of.relname = ANY ($1)
       AND indisunique AND indimmediate AND indisvalid AND indpred IS NULL AND 0 <> ALL (indkey)
     GROUP BY of.relname, indexrelid`,
    [tables.map(({ name }) => name)],
  );
  const hasKey = ({ name, key }: Table) =>
    keys.some(
      ({ table, columns }) => table === name && [...columns].sort().join() === [...key].sort().join(),
    );
  return new Set(tables.filter(hasKey).map(({ name }) => name));
}

/** Makes a key again that was dropped. Of rows that doubled meanwhile one stays. */
async function makeKey(postgres: Postgres, { name, key }: Table): Promise<void> {
  const [table, columns] = [quoted(name), key.map(quoted)];
  const isSame = columns.map((column) => `one.${column} = other.${column}`).join(' AND ');
  const isNull = columns.map((column) => `${column} IS NULL`).join(' OR ');
  await postgres.run(
    `DELETE FROM ${table} AS one USING ${table} AS other WHERE ${isSame} AND one.ctid > other.ctid`,
  );
  await postgres.run(`DELETE FROM ${table} WHERE ${isNull}`);
  await postgres.run(`ALTER TABLE ${table} ADD PRIMARY KEY (${columns.join(', ')})`);
}

async function makeTable(
  postgres: Postgres,
  table: Table,
  present: ReadonlyMap<string, string> | undefined,
): Promise<MadeTable> {
  if (present === undefined) {
    await postgres.run(createSql(table));
    return { table, isNew: true, isChanged: true, problems: [] };
  }
  const columns: Column[] = [];
  const problems: string[] = [];
  let isChanged = false;
  for (const column of table.columns) {
    const type = present.get(column.name);
    if (type === column.type) columns.push(column);
    else {
      const refusal = await alterColumn(postgres, table, column, type);
      if (refusal === undefined) {
        columns.push(column);
        isChanged = true;
        continue;
      }
      problems.push(`${table.name}.${column.name} cannot be ${column.type}: ${refusal}`);
      // Where its type is one of ours, values that fit it are still sent.
      if (isColumnType(type))
        columns.push({ ...column, type, from: type === 'numeric' ? column.from : column.plain });
    }
  }
  const added = columns.map(({ name }) => name).filter((name) => !present.has(name));
  const layout = [...present.keys(), ...added];
  return { table: { ...table, columns, layout }, isNew: false, isChanged, problems };
}

/** Adds a column, or changes its type. @param type that it has there. @returns why Postgres refuses that; undefined where it is done. */
async function alterColumn(
  postgres: Postgres,
  { name: table }: Table,
  column: Column,
  type: string | undefined,
): Promise<string | undefined> {
  // Mostly a view refuses it. Looked up first: each load would try again, and ALTER TABLE waits for every report that reads the table.
  if (type !== undefined && (await isInView(postgres, table, column.name))) return 'a view uses it';
  try {
    await postgres.attempt(() => postgres.run(alterSql(table, column, type)));
    return undefined;
  } catch (thrown) {
    return toError(thrown).message;
  }
}

async function isInView(postgres: Postgres, table: string, column: string): Promise<boolean> {
  const found = await postgres.query(
    `SELECT 1 FROM pg_depend JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
     WHERE classid = 'pg_rewrite'::regclass AND refclassid = 'pg_class'::regclass AND refobjid = $1::regclass AND attname = $2
     LIMIT 1`,
    [quoted(table), column],
  );
  return found.length > 0;
}

/** By table or view, in their order; those that are not there are left out. */
async function columnsThere(
  postgres: Postgres,
  tables: readonly string[],
): Promise<Map<string, Map<string, string>>> {
  const rows = await postgres.query<{ table: string; name: string; type: string }>(
    `SELECT of.relname AS "table", attname AS name, format_type(atttypid, atttypmod) AS type
     FROM pg_attribute JOIN pg_class AS of ON of.oid = attrelid
     WHERE of.relnamespace = current_schema()::regnamespace AND of.relname = ANY ($1)
       AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [tables],
  );
  const found = new Map<string, Map<string, string>>();
  for (const { table, name, type } of rows) found.set(table, (found.get(table) ?? new Map()).set(name, type));
  return found;
}

function createSql({ name, columns, isRewritten }: Table): string {
  return `CREATE TABLE ${quoted(name)} (${columns.map(definition).join(', ')})${isRewritten ? WITH_ROOM : ''}`;
}

/** Room on each page for new versions of its rows: Postgres then leaves the index as it is (HOT). */
const WITH_ROOM = ' WITH (fillfactor = 45)';

/** Keys sort as SQLite sorts them, whatever language the database speaks. */
const definition = ({ name, type }: Column) =>
  `${quoted(name)} ${type}${name === '_key' ? ' COLLATE "C"' : ''}`;

/** A column that changes its type is emptied: `isChanged` has its values sent anew. */
function alterSql(table: string, column: Column, type: string | undefined): string {
  const alter = `ALTER TABLE ${quoted(table)}`;
  return type === undefined
    ? `${alter} ADD COLUMN ${definition(column)}`
    : `${alter} ALTER COLUMN ${quoted(column.name)} TYPE ${column.type} USING NULL`;
}

/**
 * Volatile values lie in a narrow table, as in the mirror, and a view by the dataset's name shows both tables: they change with every
 * walk, and Postgres would write the whole row again.
 */
export type SplitTables = { rows: Table; volatile: Table | undefined };

/** The tables behind the one that is shown. */
export function splitVolatile(job: ListedJob, shown: Table): SplitTables {
  if (job.volatileTable === null) return { rows: shown, volatile: undefined };
  const volatile = new Set(job.volatile.map(quoted));
  const { columns } = shown;
  return {
    rows: {
      ...shown,
      name: job.rows,
      of: job.rows,
      columns: columns.filter(({ plain }) => !volatile.has(plain)),
    },
    volatile: {
      ...shown,
      name: job.volatileTable,
      columns: columns.filter(({ name, plain }) => name === '_key' || volatile.has(plain)),
      isRewritten: true,
    },
  };
}

/** Makes the view, or gives it the columns that it lacks: those that it has keep their places, for views of others may rest on it. */
export async function makeDatasetView(
  postgres: Postgres,
  shown: Table,
  tables: { rows: Table; volatile: Table },
): Promise<void> {
  const there = await columnsThere(postgres, [shown.name]);
  const present = [...(there.get(shown.name)?.keys() ?? [])];
  const ofVolatile = new Set(tables.volatile.columns.map(({ name }) => name));
  const columns = shown.columns
    .map(({ name }) => name)
    .filter((name) => ofVolatile.has(name) || tables.rows.columns.some((column) => column.name === name));
  const added = columns.filter((name) => !present.includes(name));
  if (added.length === 0) return;
  const isVolatile = (name: string) => name !== '_key' && ofVolatile.has(name);
  const list = [...present, ...added].map(
    (name) => `${isVolatile(name) ? 'aging' : 'stored'}.${quoted(name)}`,
  );
  // Postgres leaves the join out of queries without volatile columns.
  await postgres.run(
    `CREATE OR REPLACE VIEW ${quoted(shown.name)} AS SELECT ${list.join(', ')} FROM ${quoted(tables.rows.name)} AS stored
     LEFT JOIN ${quoted(tables.volatile.name)} AS aging USING (_key)`,
  );
}

/** Gives rows the values of the stage where those differ. A single statement that also adds rows would probe the index for every row. */
export function updateSql({ name, columns }: Table): string {
  const names = columns.map((column) => quoted(column.name)).filter((column) => column !== quoted('_key'));
  const list = (from: string) => names.map((column) => `${from}.${column}`).join(', ');
  return (
    `UPDATE ${quoted(name)} AS kept SET ${names.map((column) => `${column} = staged.${column}`).join(', ')} ` +
    `FROM stage AS staged WHERE staged._key = kept._key AND (${list('staged')}) IS DISTINCT FROM (${list('kept')})`
  );
}

/** Adds the rows of the stage that are missing. */
export function addSql({ name, columns }: Table): string {
  const list = columns.map((column) => quoted(column.name)).join(', ');
  return (
    `INSERT INTO ${quoted(name)} (${list}) SELECT ${list} FROM stage AS staged ` +
    `WHERE NOT EXISTS (SELECT 1 FROM ${quoted(name)} AS kept WHERE kept._key = staged._key)`
  );
}
