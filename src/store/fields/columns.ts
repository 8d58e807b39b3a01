/**
 * The column of a discovered field: its path, as SQLite's JSON functions read it, its name, as an analyst would write it,
 * and the column itself, which is virtual, so that rows already stored cost nothing and need no change.
 */

import { historyOf, type Job, rowsOf, tableOf, versionsOf } from '../../job.ts';
import type { Connection } from '../connection.ts';
import { quoted } from '../sql.ts';
import { ensureShown } from '../views.ts';

const LONGEST_NAME = 60;
const LONGEST_PART = 100;

/** The path of a field, given the names that lead to it; those that are not plain words are quoted, as JSON. */
export function jsonPath(names: readonly string[]): string {
  return names.reduce(
    (around, name) => around + (/^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `.${JSON.stringify(name)}`),
    '$',
  );
}

/** The path of the object around a field; `$` is the row. */
export function pathAround(path: string): string {
  return path.replace(/\.(?:\w+|"(?:[^"\\]|\\.)*")$/, '');
}

/**
 * Snake case, with the names of nested objects joined by `_`. Never begins with `_`, as the bookkeeping columns
 * do, nor with a digit; a word of SQL gets `_` at its end, a name that is taken a number.
 * @param path the names that lead to the field, from the row down.
 * @param taken names in lower case, since SQLite does not tell `Id` from `id`.
 */
export function columnName(path: readonly string[], taken: ReadonlySet<string>): string {
  const parts = path.map(snakeCase).filter(Boolean);
  const joined = [...parts.join('_')].slice(0, LONGEST_NAME).join('').replace(/_+$/, '') || 'field';
  const plain = /^\p{N}/u.test(joined) ? `field_${joined}` : joined;
  const name = reserved.has(plain) ? `${plain}_` : plain;
  for (let count = 1; ; count += 1) {
    const numbered = count === 1 ? name : `${name.replace(/_$/, '')}_${count}`;
    if (!taken.has(numbered)) return numbered;
  }
}

function snakeCase(name: string): string {
  return name
    .slice(0, LONGEST_PART)
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1_$2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, '_')
    .replace(/^_+|_+$/g, '')
    .toLowerCase();
}

/** Words that SQLite does not take as a bare name; names of the row number and of truth, which a column would hide. */
const reserved = new Set(
  (
    'add all alter and as autoincrement between case cast check collate commit constraint create current_date ' +
    'current_time current_timestamp default deferrable delete distinct drop else escape except exists foreign ' +
    'from group having in index insert intersect into is isnull join limit not nothing notnull null on or order ' +
    'primary raise references returning select set table then to transaction union unique update using values ' +
    'when where rowid oid true false'
  ).split(' '),
);

/**
 * Gives the job's rows and versions columns that read these paths from `_body`, and its views with them. Readers may be at
 * work. SQLite reads the whole schema anew for each column: without the job's views, which are wide, there is less to read.
 */
export function addColumns(connection: Connection, job: Job, fields: readonly FieldColumn[]): void {
  for (const view of [tableOf(job), historyOf(job)])
    if (view !== undefined) connection.exec(`DROP VIEW IF EXISTS ${quoted(view)}`);
  for (const table of tablesOf(job)) for (const field of fields) addTo(connection, table, field);
  ensureShown(connection, job);
}

type FieldColumn = { column: string; path: string };

/** The names of the columns of a job's rows, in lower case. */
export function columnsOf(connection: Connection, job: Job): Set<string> {
  return namesIn(connection, rowsOf(job));
}

/** Adds the columns that `fields` lists but a table lacks: a migration that rebuilds a table drops them. */
export function ensureColumns(connection: Connection, job: Job): void {
  const listed = connection
    .prepare<[string], FieldColumn>('SELECT "column", path FROM fields WHERE job = ? ORDER BY rowid')
    .all(job.name);
  for (const table of tablesOf(job)) {
    const present = namesIn(connection, table);
    for (const field of listed) if (!present.has(field.column)) addTo(connection, table, field);
  }
}

function addTo(connection: Connection, table: string, { column, path }: FieldColumn): void {
  const literal = `'${path.replaceAll("'", "''")}'`;
  connection.exec(
    `ALTER TABLE "${table}" ADD COLUMN "${column}" GENERATED ALWAYS AS (json_extract(_body, ${literal})) VIRTUAL`,
  );
}

function namesIn(connection: Connection, table: string): Set<string> {
  const names = connection.prepare<[string], string>('SELECT lower(name) FROM pragma_table_xinfo(?)').pluck();
  return new Set(names.all(table));
}

function tablesOf(job: Job): string[] {
  const versions = versionsOf(job);
  return [rowsOf(job), ...(versions ? [versions] : [])];
}
