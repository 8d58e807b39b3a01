/** Drizzle's SQL on statements of our own: prepared once, bound by position, without its cost per row. */

import { is, Param, Placeholder } from 'drizzle-orm';
import type { Connection } from './connection.ts';

type Query = { toSQL(): { sql: string; params: unknown[] } };
export type Values = Record<string, unknown>;

export type Prepared = {
  run(values: Values): void;
  /** The first column of the first row, or undefined. */
  pluck(values: Values): unknown;
};

/** Prepares a Drizzle query whose values are `sql.placeholder(name)`; `run` takes them by name. */
export function prepare(connection: Connection, query: Query): Prepared {
  const { sql, params } = query.toSQL();
  const statement = connection.prepare<unknown[]>(sql);
  const plucking = statement.reader ? connection.prepare<unknown[]>(sql).pluck() : statement;
  const sources = params.map(placeholderName);
  const bind = (values: Values) =>
    sources.map((source, at) => (source === undefined ? params[at] : values[source]));
  return {
    run: (values) => void statement.run(bind(values)),
    pluck: (values) => plucking.get(bind(values)),
  };
}

function placeholderName(param: unknown): string | undefined {
  const value = is(param, Param) ? param.value : param;
  return is(value, Placeholder) ? String(value.name) : undefined;
}
