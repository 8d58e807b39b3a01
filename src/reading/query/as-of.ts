/** The mirror as it stood at some time: temporary views that take the place of its tables. */

import { Failure } from '../../base/errors.ts';
import { tokenize, unquoted } from '../../base/sql-tokens.ts';
import { describeBeginning } from '../../base/time.ts';
import { type Connection, PROOF, quoted } from '../../store/read.ts';
import { rowsAt } from '../moment.ts';

/**
 * Of the tables that the mirror keeps about itself, those whose rows say from when on they are there. All others have only their
 * present state.
 */
const datedBy: Readonly<Record<string, string>> = { walks: 'finished_at', requests: 'at' };

/** Makes the names of mirrored tables, histories and views mean what they held at `asOf` (ISO 8601 UTC with milliseconds), on this connection alone. */
export function lookBack(connection: Connection, tables: readonly string[], asOf: string): void {
  connection.pragma('temp_store = memory');
  connection.pragma('query_only = 0');
  const until = `'${asOf.replaceAll("'", "''")}'`;
  for (const table of tables) shadowTable(connection, table, until);
  for (const [table, time] of Object.entries(datedBy))
    connection.exec(`CREATE TEMP VIEW ${table} AS SELECT * FROM main.${table} WHERE ${time} <= ${until}`);
  // A view leaves no trace in the program of a statement. By this table, `refuseUndated` finds who reads it.
  connection.exec(`CREATE TEMP TABLE freshness (${columnNames(connection, 'freshness').map(quoted)})`);
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

/**
 * @param read the tables that the statement reads, through all views.
 * @param tables the mirrored ones.
 * @throws Failure `usage` for a statement that reads what is known only for now, or before it is known.
 */
export function refuseUndated(
  connection: Connection,
  read: readonly string[],
  tables: readonly string[],
  asOf: string,
): void {
  const known = new Set([...tables.flatMap(tablesOfDataset), ...Object.keys(datedBy)]);
  const undated = read.find((table) => !known.has(table));
  if (undated !== undefined) throw new Failure('usage', describeUndated(undated));
  // Of old calls nothing is left, so none would be a lie.
  const oldest = read.includes('requests') ? oldestRequest(connection) : null;
  if (oldest !== null && asOf < oldest)
    throw new Failure('usage', describeBeginning('The record of calls', oldest));
}

const tablesOfDataset = (table: string) => [
  table,
  `${table}_history`,
  ...['rows', 'history_rows', 'volatile'].map((part) => `_${table}_${part}`),
];

const oldestRequest = (connection: Connection): string | null =>
  connection.prepare<[], string | null>('SELECT min(at) FROM main.requests').pluck().get() ?? null;

function describeUndated(table: string): string {
  const instead = `, or ask for what had been proven by then: SELECT job, max(started_at) AS complete_as_of, verdict FROM walks WHERE ${PROOF} GROUP BY job`;
  return `${table} shows how things stand now: leave out the time${table === 'freshness' ? instead : ''}`;
}

function shadowTable(connection: Connection, table: string, asOf: string): void {
  const present = columnNames(connection, table);
  const past = new Set(columnNames(connection, historyOf(table)));
  const history = past.size === 0 ? null : `main.${quoted(historyOf(table))}`;
  const rows = rowsAt({ table: `main.${quoted(table)}`, history }, { present, past }, asOf);
  connection.exec(`CREATE TEMP VIEW ${quoted(table)} AS ${rows}`);
  if (history !== null)
    connection.exec(
      `CREATE TEMP VIEW ${quoted(historyOf(table))} AS SELECT * FROM ${history} WHERE _valid_to <= ${asOf}`,
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
