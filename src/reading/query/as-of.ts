/** The mirror as it stood at some time: temporary views that take the place of its tables. */

import { Failure } from '../../errors.ts';
import { type Connection, quoted } from '../../store/read.ts';
import { tokenize, unquoted } from './statement.ts';

/** Makes the names of mirrored tables, histories and views mean what they held at `asOf` (ISO 8601 UTC with milliseconds), on this connection alone. */
export function lookBack(connection: Connection, tables: readonly string[], asOf: string): void {
  connection.pragma('temp_store = memory');
  connection.pragma('query_only = 0');
  for (const table of tables) shadowTable(connection, table, `'${asOf.replaceAll("'", "''")}'`);
  for (const definition of views(connection, [...tables, ...tables.map(historyOf)]))
    connection.exec(definition.replace(/^CREATE VIEW/, 'CREATE TEMP VIEW'));
  connection.pragma('query_only = 1');
}

/**
 * A name below `main` means the table itself, which holds the present: the views that look back stand in `temp`. So do the tables
 * below the mirrored ones, which only views name. SQLite takes a name in any quotes, even those of a text.
 * @throws Failure `usage` for a statement that names something so.
 */
export function refusePresent(sql: string, tables: readonly string[]): void {
  const names = tokenize(sql).map(({ text }) =>
    unquoted(text)
      .replace(/^'(.*)'$/s, '$1')
      .toLowerCase(),
  );
  if (names.some((name, at) => name === 'main' && names[at + 1] === '.'))
    throw new Failure(
      'usage',
      '--as-of: main.<table> is the table as it stands now: leave out "main.", and the name means what it held then',
    );
  for (const table of tables)
    for (const part of ['rows', 'history_rows', 'volatile'])
      if (names.includes(`_${table}_${part}`))
        throw new Failure('usage', `--as-of: _${table}_${part} is a table as it stands now: ask ${table}`);
}

/** A version holds from `_valid_from` until just before `_valid_to`; the current one from `_changed_at`. */
function shadowTable(connection: Connection, table: string, asOf: string): void {
  const columns = columnNames(connection, table);
  const history = historyOf(table);
  const kept = new Set(columnNames(connection, history));
  // A row that became held later was not held then.
  const list = columns
    .map((name) =>
      name.startsWith('_held_')
        ? `CASE WHEN _held_since <= ${asOf} THEN ${quoted(name)} END AS ${quoted(name)}`
        : quoted(name),
    )
    .join(', ');
  const past = columns.map((name) => (kept.has(name) ? quoted(name) : `NULL AS ${quoted(name)}`)).join(', ');
  const current = `SELECT ${list} FROM main.${quoted(table)} WHERE _changed_at <= ${asOf}`;
  if (kept.size === 0) {
    connection.exec(`CREATE TEMP VIEW ${quoted(table)} AS ${current}`);
    return;
  }
  connection.exec(
    `CREATE TEMP VIEW ${quoted(table)} AS ${current}
     UNION ALL SELECT ${past} FROM main.${quoted(history)} WHERE _valid_from <= ${asOf} AND _valid_to > ${asOf}`,
  );
  connection.exec(
    `CREATE TEMP VIEW ${quoted(history)} AS
     SELECT * FROM main.${quoted(history)} WHERE _valid_to <= ${asOf}`,
  );
}

const historyOf = (table: string) => `${table}_history`;

/** The definitions of the views over these: of all views but those among them. */
function views(connection: Connection, tables: readonly string[]): string[] {
  return connection
    .prepare<[string], string>(
      `SELECT sql FROM main.sqlite_master WHERE type = 'view' AND name <> 'freshness'
         AND name NOT IN (SELECT value FROM json_each(?))`,
    )
    .pluck()
    .all(JSON.stringify(tables));
}

/** Empty for a table that there is not; generated columns count. */
export function columnNames(connection: Connection, table: string): string[] {
  return connection
    .prepare<[string], string>(`SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden <> 1`)
    .pluck()
    .all(table);
}
