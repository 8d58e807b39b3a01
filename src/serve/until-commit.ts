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

const moments = new WeakMap<Connection, (work: () => unknown) => unknown>();

/** Runs `work` on one moment of the database. Its transaction is made once for each connection: to make one takes 8 µs. */
export function atOneMoment<Value>(connection: Connection, work: () => Value): Value {
  const run = moments.get(connection) ?? connection.transaction((work: () => unknown) => work());
  moments.set(connection, run);
  return run(work) as Value;
}

/** Gives what `make` has made of the database for `name`, and makes it the first time. */
export type Kept = <Value>(name: string, make: () => Value) => Value;

const made = new WeakMap<Connection, { version: number; kept: Kept }>();

/** @returns what is kept of the database until another connection commits. To look whether one has takes a lock: 3 µs. */
export function untilCommit(connection: Connection): Kept {
  const version = prepared(connection, 'PRAGMA data_version').pluck().get() as number;
  const known = made.get(connection);
  if (known?.version === version) return known.kept;
  const values = new Map<string, unknown>();
  const kept: Kept = <Value>(name: string, make: () => Value) => {
    if (!values.has(name)) values.set(name, make());
    return values.get(name) as Value;
  };
  made.set(connection, { version, kept });
  return kept;
}
