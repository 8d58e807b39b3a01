/** Which tables Postgres has of a job, each with the rows of one of the mirror. */

import { toError } from '../../base/errors.ts';
import type { ListedJob } from '../../job/list.ts';
import {
  type Column,
  isColumnType,
  ownKindOf,
  storedColumnsOf,
  typedColumns,
} from '../../reading/columns.ts';
import { type Connection, quoted } from '../../store/read.ts';
import type { Postgres } from './client.ts';

export type Table = {
  /** Over there. */
  name: string;
  /** SQL behind FROM in the mirror. */
  of: string;
  columns: readonly Column[];
  /** Its primary key over there. */
  key: readonly string[];
  /** In a table of all jobs: the one whose rows are meant. */
  job?: string;
  /** All its rows are written again and again. */
  isRewritten?: true;
  /** The names of all columns over there, as they lie in a row; those of `columns` where it was made just now. */
  layout?: readonly string[];
};

/** The tables of a dataset: its rows, its history where it has one, values that make no version, and what the mirror keeps of it. */
export type JobTables = {
  rows: Table;
  history: Table | undefined;
  volatile: Table | undefined;
  walks: Table;
  fields: Table;
  datasets: Table;
};

/**
 * Those tables, as the mirror has them now. Volatile values lie in a narrow table, as in the mirror, and a view by the dataset's name shows
 * both: they change with every walk, and Postgres would write the whole row again.
 * @property shown the columns of the dataset, in their order.
 */
export function tablesOfJob(connection: Connection, job: ListedJob): JobTables & { shown: Shown } {
  const { rows, history } = storedColumnsOf(connection, job);
  const from = (table: string) => `${quoted(table)} AS stored`;
  const isVolatile = ({ name }: Column) => job.volatile.includes(name);
  const key = ['_number'];
  const ofVolatile = rows.filter(isVolatile).map(({ name, type }): Column => {
    const value = `moving.${quoted(name)}`;
    return { name, type, from: value, valueSql: value };
  });
  return {
    shown: { name: job.table, columns: rows.map(({ name }) => name).filter((name) => name !== '_number') },
    rows: {
      name: job.volatileTable === null ? job.table : job.rows,
      ...{ of: from(job.rows), columns: rows.filter((column) => !isVolatile(column)), key },
    },
    volatile:
      job.volatileTable === null
        ? undefined
        : {
            name: job.volatileTable,
            of: `${from(job.rows)} JOIN ${quoted(job.volatileTable)} AS moving ON moving.number = stored.number`,
            columns: [...rows.filter(({ name }) => name === '_number'), ...ofVolatile],
            ...{ key, isRewritten: true },
          },
    history: history && { name: `${job.history}`, of: from(`${job.versions}`), columns: history, key },
    ...ownTables(connection, job.name),
  };
}

/** What the mirror keeps about itself, of one job. */
function ownTables(connection: Connection, job: string): Record<'walks' | 'fields' | 'datasets', Table> {
  const table = (name: string, key: readonly string[], of = name): Table => ({
    name,
    of: quoted(of),
    columns: typedColumns(connection, of, (column, declared) => ownKindOf(of, column, declared)).filter(
      (column) => !forTheProgram.has(column.name),
    ),
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
  ...['memory', 'shape', 'motions', 'reordered_seq', 'orders_from'],
  ...['order_seq', 'pages_of', 'last_number'],
]);

type MadeTable = {
  /** The table as it is there now, without columns that could not be made. */
  table: Table;
  /** Whether it was made just now. */
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

/** Makes a key again that was dropped. The rows are loaded anew: some may have doubled meanwhile. */
async function makeKey(postgres: Postgres, { name, key }: Table): Promise<void> {
  await postgres.run(`DELETE FROM ${quoted(name)}`);
  await postgres.run(`ALTER TABLE ${quoted(name)} ADD PRIMARY KEY (${key.map(quoted).join(', ')})`);
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
        columns.push({ ...column, type, from: type === 'numeric' ? column.from : column.valueSql });
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
  const views = type === undefined ? [] : await viewsWith(postgres, table, column.name);
  // Mostly a view refuses it. Looked up first: each load would try again, and ALTER TABLE waits for every report that reads the table.
  if (views.some(({ isOurs }) => !isOurs)) return 'a view uses it';
  try {
    await postgres.attempt(async () => {
      for (const { name } of views) await postgres.run(`DROP VIEW ${quoted(name)}`);
      await postgres.run(alterSql(table, column, type));
    });
    return undefined;
  } catch (thrown) {
    return toError(thrown).message;
  }
}

/** The views that use a column; ours are made anew at the end of the transaction. */
async function viewsWith(
  postgres: Postgres,
  table: string,
  column: string,
): Promise<{ name: string; isOurs: boolean }[]> {
  return await postgres.query(
    `SELECT DISTINCT relname AS name, coalesce(obj_description(view.oid, 'pg_class') LIKE '${OURS}%', false)
         AND relnamespace = current_schema()::regnamespace AS "isOurs"
     FROM pg_depend JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
       JOIN pg_rewrite ON pg_rewrite.oid = objid JOIN pg_class AS view ON view.oid = ev_class
     WHERE classid = 'pg_rewrite'::regclass AND refclassid = 'pg_class'::regclass AND refobjid = $1::regclass AND attname = $2`,
    [quoted(table), column],
  );
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

/** The rows are known by the mirror's numbers; reports look for keys, which may be longer than another index takes. */
function createSql({ name, columns, key, isRewritten }: Table): string {
  const table = `CREATE TABLE ${quoted(name)} (${columns.map(definition).join(', ')}, PRIMARY KEY (${key.map(quoted).join(', ')}))`;
  const index = columns.some((column) => column.name === '_key')
    ? `; CREATE INDEX ON ${quoted(name)} USING hash (_key)`
    : '';
  return `${table}${isRewritten ? WITH_ROOM : ''}${index}`;
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

/** The dataset by its name. */
export type Shown = { name: string; columns: readonly string[] };

/** Makes the view, or gives it the columns that it lacks: those that it has keep their places, for views of others may rest on it. */
export async function makeDatasetView(
  postgres: Postgres,
  shown: Shown,
  tables: { rows: Table; volatile: Table },
): Promise<void> {
  const present = await columnsOfView(postgres, shown.name);
  const ofVolatile = new Set(tables.volatile.columns.map(({ name }) => name));
  const columns = shown.columns.filter(
    (name) => ofVolatile.has(name) || tables.rows.columns.some((column) => column.name === name),
  );
  const added = columns.filter((name) => !present.includes(name));
  if (added.length === 0) return;
  const list = [...present, ...added].map(
    (name) => `${ofVolatile.has(name) ? 'moving' : 'stored'}.${quoted(name)}`,
  );
  // Postgres leaves the join out of queries without volatile columns.
  await postgres.run(
    `CREATE OR REPLACE VIEW ${quoted(shown.name)} AS SELECT ${list.join(', ')} FROM ${quoted(tables.rows.name)} AS stored
     LEFT JOIN ${quoted(tables.volatile.name)} AS moving USING (_number)`,
  );
}

/** The columns of a table or view, in their order; none where there is none. */
export async function columnsOfView(postgres: Postgres, name: string): Promise<string[]> {
  return [...((await columnsThere(postgres, [name])).get(name)?.keys() ?? [])];
}

/** How the comment of a view of ours begins. */
export const OURS = 'Of market-mirror: ';
