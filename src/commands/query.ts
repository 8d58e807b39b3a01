/** `market-mirror query <sql>`: asks the mirror in SQL and says how far the answer can be trusted. `export` asks in the same way. */

import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import { isoTime } from '../base/clock.ts';
import { Failure } from '../base/errors.ts';
import { printable, printableLines } from '../base/printable.ts';
import { millisecondsOf, parsePastTime } from '../base/time.ts';
import { readLocalConfig } from '../config.ts';
import { type ListedJob, listJobs, tablesOf } from '../job/list.ts';
import { type Format, formats, isJsonForm } from '../output/answer.ts';
import { printRows } from '../output/print.ts';
import {
  type Answer,
  type Params,
  type Question,
  type RunQuery,
  withQueryProcess,
} from '../reading/query.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';

/** Standard input. */
export type Input = NodeJS.ReadableStream & { isTTY?: boolean };

/** What `query` and `export` take alike. */
export type QueryOptions = {
  file?: string;
  param?: Params;
  timeout?: string;
  maxAge?: string;
  maxSeenAge?: string;
  asOf?: string;
  exact?: true;
  json?: true;
};

/** A table is laid out once its last row is known, so its rows are bounded. */
const MAX_ROWS_OF_TABLE = 1_000;

export function queryCommand(context: Context, stdin: Input = process.stdin): Command {
  const command = new Command('query')
    .argument(
      '[sql]',
      'one SELECT, WITH, VALUES or EXPLAIN; from standard input if neither it nor --file is given',
    )
    .option('--file <file>', 'read the SQL from a file')
    .addOption(new Option('--format <format>', 'how to print the rows (default: table)').choices(formats))
    .option('--json', 'the same as --format json')
    .option('--limit <rows>', 'print this many rows at most', parseCount)
    .option('--exact', 'CSV: keep cells that a spreadsheet would run as formulas')
    .action((sql: string | undefined, options: QueryOptions & { format?: Format; limit?: number }) =>
      withQueryProcess(async (ask) => {
        const { json, format = json ? 'json' : 'table', exact = false } = options;
        const limit = options.limit ?? (format === 'table' ? MAX_ROWS_OF_TABLE : Number.POSITIVE_INFINITY);
        const asOf = readAsOf(options, context);
        const question = {
          ...{ sql: await readSql(sql, options.file, stdin), params: options.param ?? {}, asOf },
          json: isJsonForm(format),
        };
        await askMirror(ask, question, await listJobs(), options, context, (answer) =>
          printRows(answer, { format, limit, exact }, context.stdout, answer.notes),
        );
      }),
    );
  return withExamples(
    withQueryOptions(command),
    [
      'how fresh and complete each dataset is',
      'query "SELECT job, rows, complete_as_of, verdict FROM freshness"',
    ],
    [
      'as CSV, with a parameter',
      'query --format csv --param asset=BTC "SELECT * FROM ai_signals WHERE asset = :asset"',
    ],
    ['only from data of the last ten minutes', 'query --max-age 10m "SELECT count(*) FROM meme_signals"'],
    ['the rows of two hours ago', 'query --as-of 2h "SELECT count(*) FROM news"'],
  );
}

function parseCount(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('it is a whole number');
  return Number(text);
}

export function withQueryOptions(command: Command): Command {
  return command
    .option(
      '--param <name=value>',
      'the value of :name as text; name:=value for a number, null, true or false',
      addParam,
    )
    .option('--timeout <duration>', 'end the query after this time, such as 30s')
    .option(
      '--max-age <duration>',
      'refuse with exit code 75 if a dataset was proven complete longer ago than this, such as 10m',
    )
    .option(
      '--max-seen-age <duration>',
      'refuse with exit code 75 if new rows of a dataset were looked for longer ago than this',
    )
    .option(
      '--as-of <time>',
      'query the mirror as it was then: 2026-03-01, 2026-03-01T12:00Z, or 2h for two hours ago',
    );
}

function addParam(written: string, before?: Params): Params {
  const [, name, typed, value] = /^[:@$]?(\w+)(:?)=(.*)$/su.exec(written) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError(
      'write it as name=value, or name:=value for a number, null, true or false',
    );
  return { ...before, [name]: typed ? typedValue(value) : value };
}

function typedValue(written: string): string | number | bigint | null {
  const words: Record<string, number | null> = { null: null, true: 1, false: 0 };
  if (Object.hasOwn(words, written)) return words[written] ?? null;
  if (/^-?\d+$/.test(written)) {
    const whole = BigInt(written);
    if (BigInt.asIntN(64, whole) === whole) return whole;
    throw new InvalidArgumentError(`${written} is no number of 64 bits; name=value gives a text`);
  }
  const number = Number(written);
  if (written.trim() === '' || Number.isNaN(number))
    throw new InvalidArgumentError(`'${written}' is no number, null, true or false; name=value gives a text`);
  return number;
}

/** Asks the mirror, hands the answer to `read`, and then says on stderr what its reader should know. */
export async function askMirror<T>(
  ask: RunQuery,
  question: Omit<Question, 'dir' | 'tables'>,
  jobs: readonly ListedJob[],
  options: QueryOptions,
  { environment, clock, signal, stderr, hint }: Context,
  read: (answer: Answer) => Promise<T>,
): Promise<T> {
  const { dir } = readLocalConfig(environment);
  const bounds = {
    signal,
    now: clock.now,
    timeoutMs: parseDuration(options.timeout, '--timeout'),
    maxAgeMs: parseDuration(options.maxAge, '--max-age'),
    maxSeenAgeMs: parseDuration(options.maxSeenAge, '--max-seen-age'),
  };
  try {
    return await ask({ dir, ...question, tables: tablesOf(jobs) }, bounds, async (answer) => {
      const result = await read(answer);
      for (const note of answer.notes) stderr.write(`note: ${hint(printable(note))}\n`);
      return result;
    });
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    // After the first line comes the SQL, with a mark at the mistake.
    const [message = '', ...excerpt] = thrown.message.split('\n');
    if (excerpt.length > 0) stderr.write(`${printableLines(excerpt.join('\n'))}\n`);
    throw new Failure(thrown.kind, printable(message), { cause: thrown });
  }
}

/** The SQL from the argument, from a file, or from standard input where there is neither. */
export async function readSql(
  sql: string | undefined,
  file: string | undefined,
  stdin: Input,
): Promise<string> {
  if (sql !== undefined && file !== undefined)
    throw new Failure('usage', 'give either SQL or --file, not both');
  if (file !== undefined) return readSqlFile(file);
  if (sql !== undefined && sql !== '-') return sql;
  if (sql === undefined && stdin.isTTY)
    throw new Failure('usage', 'no SQL was given, such as "SELECT * FROM freshness"');
  const { text } = await import('node:stream/consumers');
  return await text(stdin);
}

function readSqlFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    throw new Failure('usage', `--file: ${file} cannot be read (${(thrown as NodeJS.ErrnoException).code})`);
  }
}

/** Milliseconds of a duration such as `10m` or `2h`. @param option for the error. */
export function parseDuration(text: string | undefined, option: string): number | undefined {
  const duration = text === undefined ? undefined : millisecondsOf(text);
  if (text !== undefined && duration === undefined)
    throw new Failure('usage', `${option}: '${text}' is no duration such as 90s, 10m, 2h or 3d`);
  return duration;
}

/** The time to answer for, ISO 8601 UTC with milliseconds; null for now. */
export function readAsOf({ asOf }: QueryOptions, { clock }: Context): string | null {
  return asOf === undefined ? null : readPastTime(asOf, '--as-of', clock.now());
}

/** @param option for the error. */
export function readPastTime(text: string, option: string, now: number): string {
  const time = parsePastTime(text, now);
  if ('problem' in time) throw new Failure('usage', `${option}: ${time.problem}`);
  return isoTime(time.ms);
}
