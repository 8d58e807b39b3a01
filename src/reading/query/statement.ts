/** One statement that only reads, or a refusal that says what is wrong with it and where. */

import { Failure } from '../../base/errors.ts';
import { didYouMean, nearest } from '../../base/near.ts';
import { parameterNames, type Token, tokenize, unquoted } from '../../base/sql-tokens.ts';
import { type Connection, statementError } from '../../store/read.ts';

type Param = string | number | bigint | null;
export type Params = Readonly<Record<string, Param>>;

const readingWords = ['SELECT', 'WITH', 'VALUES'];

/** The first words of all other statements of SQLite. Anything else is a mistake, which SQLite points at. */
const otherWords =
  'ALTER ANALYZE ATTACH BEGIN COMMIT CREATE DELETE DETACH DROP END EXPLAIN INSERT PRAGMA REINDEX RELEASE REPLACE ROLLBACK SAVEPOINT UPDATE VACUUM'.split(
    ' ',
  );

/** They show something and change nothing, not even the connection. */
const harmlessPragmas = [
  ...['table_info', 'table_xinfo', 'table_list', 'index_list', 'index_info', 'index_xinfo'],
  ...['foreign_key_list', 'database_list', 'collation_list', 'function_list', 'compile_options'],
  ...['user_version', 'schema_version', 'page_count', 'page_size', 'freelist_count', 'encoding'],
  ...['integrity_check', 'quick_check'],
];

/**
 * Prepares `sql` with its parameters.
 * @returns the statement, and whether it asks for data (rather than for a plan or a pragma).
 * @throws Failure `usage` that points at the place.
 */
export function prepareReading(connection: Connection, sql: string, params: Params) {
  const tokens = tokenize(sql);
  refuseOtherThanReading(tokens);
  refuseExtensions(tokens);
  const statement = prepareOne(connection, sql, tokens);
  if (!statement.readonly || !statement.reader) throw wouldWrite();
  checkParameters(tokens, params);
  return {
    statement: statement.raw().safeIntegers(),
    asksForData: readingWords.includes(word(tokens[0])),
  };
}

// Before SQLite sees it: some pragmas act while they are prepared.
function refuseOtherThanReading(tokens: readonly Token[]): void {
  const [first, second, third] = tokens.map(word);
  if (first === undefined || tokens.every(({ text }) => text === ';')) throw nothingGiven();
  // SQLite would pass over it, to a statement at which nobody looks.
  if (first === ';') throw refusal('it begins with a semicolon, an empty statement: leave that out');
  if (readingWords.includes(first)) return;
  const explained = first === 'EXPLAIN' && (second === 'QUERY' ? word(tokens[3]) : second);
  if (explained && readingWords.includes(explained)) return;
  if (first === 'PRAGMA' && isHarmless(second, third)) return;
  if (!otherWords.includes(first)) return;
  throw refusal(
    first === 'ATTACH' || first === 'DETACH'
      ? `${first} is not allowed: query reads the mirror and nothing else`
      : first === 'PRAGMA'
        ? 'this PRAGMA is not allowed: only those that tell about tables and the file are'
        : `${first} is not allowed: query takes one SELECT, WITH … SELECT, VALUES or EXPLAIN; the database is read-only`,
  );
}

/** SQLite refuses them too, without saying why. */
function refuseExtensions(tokens: readonly Token[]): void {
  const loads = tokens.some(
    ({ kind, text }, at) =>
      kind === 'name' && unquoted(text).toLowerCase() === 'load_extension' && tokens[at + 1]?.text === '(',
  );
  if (loads) throw refusal('extensions are not loaded: query reads the mirror and nothing else');
}

function isHarmless(pragma: string | undefined, next: string | undefined): boolean {
  return pragma !== undefined && harmlessPragmas.includes(pragma.toLowerCase()) && next !== '=';
}

function prepareOne(connection: Connection, sql: string, tokens: readonly Token[]) {
  try {
    return connection.prepare<[Params], unknown[]>(sql);
  } catch (thrown) {
    if (thrown instanceof RangeError)
      throw thrown.message.includes('more than one statement')
        ? refusal('there is more than one statement: query runs one')
        : nothingGiven();
    const mistake = statementError(thrown);
    // The names of datasets are views.
    if (mistake?.startsWith('cannot modify ')) throw wouldWrite();
    throw mistake === undefined ? thrown : refusal(explainMistake(connection, mistake, sql, tokens));
  }
}

function checkParameters(tokens: readonly Token[], params: Params): void {
  if (tokens.some(({ kind, text }) => kind === 'param' && text.startsWith('?')))
    throw refusal("parameters have names: write :name instead of ? and give its value with '--param name=…'");
  const wanted = parameterNames(tokens);
  const missing = [...wanted].find((name) => !Object.hasOwn(params, name));
  if (missing !== undefined) throw refusal(`the value of :${missing} is missing: --param ${missing}=…`);
  const unknown = Object.keys(params).find((name) => !wanted.has(name));
  if (unknown !== undefined)
    throw refusal(`the statement has no parameter :${unknown}${nearest(unknown, [...wanted], ':')}`);
}

/** For a statement that SQLite did not run, or stopped: some pragmas write in the shape of a table. */
export const wouldWrite = () =>
  refusal('this statement would write, which is not allowed: the database is read-only');

const word = (token: Token | undefined): string =>
  token?.kind === 'name' ? token.text.toUpperCase() : (token?.text ?? '');

const nothingGiven = () => refusal('no SQL was given, such as "SELECT * FROM freshness"');

const refusal = (message: string) => new Failure('usage', message);

const complaints = {
  syntax: /^near "(.+)": syntax error$/s,
  token: /^unrecognized token: "(.+)"$/s,
  table: /^no such table: (?:\w+\.)?(.+)$/s,
  column: /^no such column: (?:.+\.)?(.+?)(?: - .*)?$/s,
  function: /^no such function: (.+)$/s,
};

/** The words with which a query may begin. */
const firstWords = ['SELECT', 'WITH', 'VALUES', 'EXPLAIN', 'PRAGMA'];

/** How much of a long line is shown around the place. */
const EXCERPT = { before: 60, after: 40 };

/** One line that says what is wrong; where the place is known, two more with the line of SQL and a mark below it. */
function explainMistake(
  connection: Connection,
  mistake: string,
  sql: string,
  tokens: readonly Token[],
): string {
  const said = (kind: keyof typeof complaints) => complaints[kind].exec(mistake)?.[1];
  const syntax = said('syntax');
  const token = said('token');
  const table = said('table');
  const column = said('column');
  const name = table ?? column ?? said('function');
  if (mistake === 'incomplete input') return mistake + mark(sql, sql.trimEnd().length);
  if (syntax !== undefined) {
    const at = placeOfSyntaxError(connection, mistake, syntax, sql, tokens);
    const hint =
      syntax === tokens[0]?.text ? nearest(syntax, firstWords) : hintOfHyphens(connection, tokens, at);
    return mistake + hint + mark(sql, at);
  }
  if (token !== undefined) return mistake + mark(sql, sql.indexOf(token));
  if (name === undefined) return mistake;
  const at = tokens.find((token) => token.kind === 'name' && unquoted(token.text) === name)?.at;
  const hint =
    hintOfHyphens(connection, tokens, at ?? -1) ||
    (column === undefined ? nearest(name, tableNames(connection)) : hintOfColumn(connection, column, tokens));
  return mistake + hint + mark(sql, at ?? -1);
}

/** A job has hyphens in its name, and SQL takes them for minus: ` (the table is ai_signals)` where a table is meant. */
function hintOfHyphens(connection: Connection, tokens: readonly Token[], at: number): string {
  const place = tokens.findIndex((token) => token.at === at);
  if (place < 0) return '';
  const isPart = (token: Token | undefined) => token?.kind === 'name' || token?.text === '-';
  const isJoined = (left: number) => {
    const [one, next] = [tokens[left], tokens[left + 1]];
    return isPart(one) && isPart(next) && one && next && one.at + one.text.length === next.at;
  };
  let [from, to] = [place, place];
  while (isJoined(from - 1)) from -= 1;
  while (isJoined(to)) to += 1;
  const written = tokens.slice(from, to + 1).map(({ text }) => unquoted(text));
  if (!written.join('').includes('-')) return '';
  const meant = written.join('').replaceAll('-', '_').toLowerCase();
  const table = tableNames(connection).find((name) => name.toLowerCase() === meant);
  return table === undefined ? '' : ` (the table is ${table})`;
}

/** Where a column of that name is, if somewhere; and what else may be meant, of the tables that the statement names. */
function hintOfColumn(connection: Connection, name: string, tokens: readonly Token[]): string {
  const columns = columnsByTable(connection);
  const isIt = (column: string) => column.toLowerCase() === name.toLowerCase();
  const owners = [...columns].filter(([, names]) => names.some(isIt)).map(([table]) => table);
  // A dataset stands for what lies behind it.
  const shown = owners
    .filter((table) => !table.startsWith('_') && !owners.some((other) => table.startsWith(`${other}_`)))
    .sort((one, other) => one.length - other.length);
  const written = new Set(tokens.map(({ text }) => unquoted(text).toLowerCase()));
  const named = [...columns].filter(([table]) => written.has(table.toLowerCase()));
  const known = (named.length > 0 ? named : [...columns]).flatMap(([, names]) => names);
  const others = [...new Set(known)].filter((column) => !isIt(column));
  const parts = [
    shown.length > 0 ? `it is a column of ${shown.slice(0, MAX_OWNERS_NAMED).join(', ')}` : '',
    didYouMean(name, others),
  ].filter(Boolean);
  return parts.length > 0 ? ` (${parts.join('; ')})` : '';
}

const MAX_OWNERS_NAMED = 3;

/** The first occurrence up to which the statement already has this error. */
function placeOfSyntaxError(
  connection: Connection,
  mistake: string,
  near: string,
  sql: string,
  tokens: readonly Token[],
): number {
  const fails = ({ at, text }: Token) => {
    try {
      connection.prepare(sql.slice(0, at + text.length));
      return false;
    } catch (thrown) {
      return (thrown as Error).message === mistake;
    }
  };
  return tokens.find((token) => token.text === near && fails(token))?.at ?? -1;
}

function mark(sql: string, at: number): string {
  if (at < 0) return '';
  const before = sql.slice(0, at).split('\n');
  const line = sql.split('\n')[before.length - 1] ?? '';
  const column = before.at(-1)?.length ?? 0;
  const from = Math.max(0, column - EXCERPT.before);
  const label = `  ${before.length} | `;
  // Tabs stay tabs, so that the mark stands below the place.
  const indent = line.slice(from, column).replace(/[^\t]/g, ' ');
  return `, line ${before.length}\n${label}${line.slice(from, column + EXCERPT.after)}\n${' '.repeat(label.length)}${indent}^`;
}

function tableNames(connection: Connection): string[] {
  return connection
    .prepare<[], string>(
      `SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE '\\_%' ESCAPE '\\'`,
    )
    .pluck()
    .all();
}

function columnsByTable(connection: Connection): Map<string, string[]> {
  const tables = new Map<string, string[]>();
  const all = connection
    .prepare<[], [table: string, column: string]>(
      `SELECT t.name, c.name FROM sqlite_master AS t, pragma_table_xinfo(t.name) AS c
       WHERE t.type IN ('table', 'view') ORDER BY t.name, c.cid`,
    )
    .raw()
    .all();
  for (const [table, column] of all) tables.set(table, [...(tables.get(table) ?? []), column]);
  return tables;
}
