/** Drizzle's SQL on statements of our own: prepared once, bound by position, without its cost per row. */

import { getTableColumns, is, Param, Placeholder, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Connection } from './connection.ts';

type Query = { toSQL(): { sql: string; params: unknown[] } };
export type Values = Record<string, unknown>;

export type Prepared = {
  run(values: Values): void;
  /** The first column of the first row, or undefined. */
  pluck(values: Values): unknown;
};

/** Prepares a Drizzle query whose values are placeholders; `run` takes them by name. */
export function prepare(connection: Connection, query: Query): Prepared {
  const { sql, params } = query.toSQL();
  const statement = connection.prepare<unknown[]>(sql);
  const plucking = statement.reader ? connection.prepare<unknown[]>(sql).pluck() : statement;
  const binders = params.map(binder);
  const bind = (values: Values) => binders.map((of) => of(values));
  return {
    run: (values) => void statement.run(bind(values)),
    pluck: (values) => plucking.get(bind(values)),
  };
}

function binder(param: unknown): (values: Values) => unknown {
  const value = is(param, Param) ? param.value : param;
  if (!is(value, Placeholder)) return () => param;
  const name = String(value.name);
  if (!is(param, Param)) return (values) => values[name];
  const { encoder } = param;
  return (values) => (values[name] === null ? null : encoder.mapToDriverValue(values[name]));
}

type Names<Table extends SQLiteTable> = keyof Table['$inferInsert'] & string;

/** A placeholder for each of these columns, by its name in the code; it takes what the column is declared to hold. */
export function placeholders<Table extends SQLiteTable, Name extends Names<Table>>(
  table: Table,
  names: readonly Name[],
): Record<Name, SQL> {
  return perColumn(table, names, (name, column) => sql`${sql.param(sql.placeholder(name), column)}`);
}

/** For an upsert: what the row that is there already takes over from the one that comes. */
export function excluded<Table extends SQLiteTable, Name extends Names<Table>>(
  table: Table,
  names: readonly Name[],
): Record<Name, SQL> {
  return perColumn(table, names, (_, column) => sql.raw(`excluded."${column.name}"`));
}

function perColumn<Name extends string>(
  table: SQLiteTable,
  names: readonly Name[],
  make: (name: Name, column: SQLiteColumn) => SQL,
): Record<Name, SQL> {
  const columns: Record<string, SQLiteColumn> = getTableColumns(table);
  const made = names.map((name) => [name, make(name, columns[name] as SQLiteColumn)]);
  return Object.fromEntries(made) as Record<Name, SQL>;
}
