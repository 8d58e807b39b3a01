/** What is made of a database once and kept: statements, and whatever holds until another connection commits. */

import type { Connection } from '../store/sqlite-files.ts';

/** Statements of a connection, which cost more to prepare than most rows to read. */
const statements = new WeakMap<Connection, Map<string, ReturnType<Connection['prepare']>>>();
const MAX_STATEMENTS = 200;

export function prepared(connection: Connection, sql: string) {
  const known = statements.get(connection) ?? new Map<string, ReturnType<Connection['prepare']>>();
  statements.set(connection, known);
  const found = known.get(sql);
  if (found) return found;
  if (known.size >= MAX_STATEMENTS) known.clear();
  const statement = connection.prepare(sql);
  known.set(sql, statement);
  return statement;
}

const made = new WeakMap<Connection, { version: number; values: Map<string, unknown> }>();

/** What `make` has made of the database for `name`, until another connection commits. */
export function untilCommit<Value>(connection: Connection, name: string, make: () => Value): Value {
  const version = prepared(connection, 'PRAGMA data_version').pluck().get() as number;
  const known = made.get(connection);
  const values = known?.version === version ? known.values : new Map<string, unknown>();
  if (values !== known?.values) made.set(connection, { version, values });
  const value = values.has(name) ? (values.get(name) as Value) : make();
  values.set(name, value);
  return value;
}
