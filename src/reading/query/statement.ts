/** One statement that only reads, or a refusal that says what is wrong with it and where. */

import { Failure } from '../../errors.ts';
import { nearest } from '../../near.ts';
import { type Connection, statementError } from '../../store/read.ts';
import { explainMistake, parameterNames, type Token, tokenize, unquoted } from './tokens.ts';

export type Param = string | number | bigint | null;
export type Params = Readonly<Record<string, Param>>;
export type Statement = ReturnType<typeof prepareReading>['statement'];

const readingWords = ['SELECT', 'WITH', 'VALUES'];

/** With which every other statement of SQLite begins. What begins otherwise is a mistake, which SQLite points at. */
const otherWords = [
  ...[
    'ALTER',
    'ANALYZE',
    'ATTACH',
    'BEGIN',
    'COMMIT',
    'CREATE',
    'DELETE',
    'DETACH',
    'DROP',
    'END',
    'EXPLAIN',
  ],
  ...['INSERT', 'PRAGMA', 'REINDEX', 'RELEASE', 'REPLACE', 'ROLLBACK', 'SAVEPOINT', 'UPDATE', 'VACUUM'],
];

/** Those that tell something and change nothing, not even of this connection. */
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
  if (first === undefined) throw refusal('there is no statement: give some SQL');
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
        : `${first} is not allowed: query takes one SELECT, WITH … SELECT, VALUES or EXPLAIN, and nobody but market-mirror writes to the mirror`,
  );
}

/** SQLite refuses them as well, in words that tell nobody why. */
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
    if (thrown instanceof RangeError && thrown.message.includes('more than one statement'))
      throw refusal('there is more than one statement: query runs one');
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

/** Of a statement that SQLite did not run, or stopped: some pragmas write though they are dressed as a table. */
export const wouldWrite = () =>
  refusal(
    'this statement would write, which is not allowed: nobody but market-mirror writes to the mirror, and query only reads',
  );

const word = (token: Token | undefined): string =>
  token?.kind === 'name' ? token.text.toUpperCase() : (token?.text ?? '');

const refusal = (message: string) => new Failure('usage', message);
