/** What is made of a connection once, and kept with it: statements, and its transaction. */

import type { Connection } from '../../store/sqlite-files.ts';

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
