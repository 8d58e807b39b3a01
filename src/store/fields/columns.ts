/** The columns of discovered fields: virtual, so that rows already stored cost nothing and need no change. */

import { getTableConfig } from 'drizzle-orm/sqlite-core';
import type { Job } from '../../job.ts';
import type { Connection } from '../db/connection.ts';

/** Gives the job's table and its history a column that reads `path` from `_body`. Readers may be at work. */
export function addColumn(connection: Connection, job: Job, column: string, path: string): void {
  for (const table of tablesOf(job)) addTo(connection, table, column, path);
}

/** The names of the columns of a job's table, in lower case. */
export function columnsOf(connection: Connection, job: Job): Set<string> {
  return namesIn(connection, getTableConfig(job.table).name);
}

/** Adds the columns that `fields` lists but a table lacks: a migration that rebuilds a table drops them. */
export function ensureColumns(connection: Connection, job: Job): void {
  const listed = connection
    .prepare<[string], { column: string; path: string }>(
      'SELECT "column", path FROM fields WHERE job = ? ORDER BY rowid',
    )
    .all(job.name);
  for (const table of tablesOf(job)) {
    const present = namesIn(connection, table);
    for (const { column, path } of listed) if (!present.has(column)) addTo(connection, table, column, path);
  }
}

function addTo(connection: Connection, table: string, column: string, path: string): void {
  const literal = `'${path.replaceAll("'", "''")}'`;
  connection.exec(
    `ALTER TABLE "${table}" ADD COLUMN "${column}" GENERATED ALWAYS AS (json_extract(_body, ${literal})) VIRTUAL`,
  );
}

function namesIn(connection: Connection, table: string): Set<string> {
  const names = connection.prepare<[string], string>('SELECT lower(name) FROM pragma_table_xinfo(?)').pluck();
  return new Set(names.all(table));
}

function tablesOf({ table, history }: Job): string[] {
  return [table, ...(history ? [history] : [])].map((declared) => getTableConfig(declared).name);
}
