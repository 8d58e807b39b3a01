/** `market-mirror query <sql>`: asks the mirror in SQL and says how far the answer can be trusted. */

import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { Command, InvalidArgumentError, Option } from 'commander';
import { getTableConfig } from 'drizzle-orm/sqlite-core';
import { readLocalConfig } from '../config.ts';
import { Failure } from '../errors.ts';
import { loadJobs } from '../load-jobs.ts';
import { csvFormatter } from '../report/format/csv.ts';
import type { Formatter } from '../report/format/formatter.ts';
import { jsonFormatter, ndjsonFormatter } from '../report/format/json.ts';
import { notesOn, refuseOlder } from '../report/query/proof.ts';
import { type Answer, ask, type Column, type Params } from '../report/query.ts';
import { parseDuration, parseTime } from '../report/time.ts';
import type { Context, Output } from './context.ts';
import { paintFor } from './format/colours.ts';
import { deliver } from './format/deliver.ts';
import { mdFormatter } from './format/md.ts';
import { tableFormatter } from './format/table.ts';
import { printableLines } from './printable.ts';

const formats = ['table', 'json', 'ndjson', 'csv', 'md'] as const;
type Format = (typeof formats)[number];

type Options = {
  file?: string;
  param: Params;
  format?: Format;
  json?: true;
  limit?: number;
  timeout?: string;
  maxAge?: string;
  asOf?: string;
  exact?: true;
};

type Input = NodeJS.ReadableStream & { isTTY?: boolean };

/** A table is laid out when its last row is known, so it takes no more than this. */
const MOST_ROWS_OF_A_TABLE = 1_000;

export function queryCommand(context: Context, stdin: Input = process.stdin): Command {
  return new Command('query')
    .description('ask the mirror in SQL; read-only, and without a call')
    .argument(
      '[sql]',
      'one SELECT, WITH, VALUES or EXPLAIN; from standard input where neither it nor --file is given',
    )
    .option('--file <file>', 'read the SQL from a file')
    .option(
      '--param <name=value>',
      'the value of :name as text; name:=value for a number, null, true or false',
      addParam,
      {},
    )
    .addOption(new Option('--format <format>', 'how to print the rows (default: table)').choices(formats))
    .option('--json', 'the same as --format json')
    .option('--limit <rows>', 'print at most so many rows', parseCount)
    .option('--timeout <duration>', 'end the query after this time, such as 30s')
    .option(
      '--max-age <duration>',
      'refuse with exit code 75 where a dataset is older than this, such as 10m',
    )
    .option(
      '--as-of <time>',
      'answer as the mirror stood then: 2026-03-01, 2026-03-01T12:00Z, or 2h for two hours ago',
    )
    .option('--exact', 'CSV: keep cells that a spreadsheet would run as formulas')
    .action((sql: string | undefined, options: Options) => query(sql, options, context, stdin));
}

async function query(
  given: string | undefined,
  options: Options,
  context: Context,
  stdin: Input,
): Promise<void> {
  const { environment, clock, signal, stdout, stderr } = context;
  const { dir } = readLocalConfig(environment);
  const sql = await readSql(given, options.file, stdin);
  const asOf = options.asOf === undefined ? null : parseTime(options.asOf, '--as-of', clock.now());
  const timeoutMs = options.timeout === undefined ? undefined : parseDuration(options.timeout, '--timeout');
  const maxAgeMs = options.maxAge === undefined ? undefined : parseDuration(options.maxAge, '--max-age');
  const jobs = await loadJobs();
  const tables = Object.fromEntries(jobs.map(({ name, table }) => [getTableConfig(table).name, name]));

  await ask({ dir, sql, params: options.param, tables, asOf }, { signal, timeoutMs }, async (answer) => {
    if (maxAgeMs !== undefined)
      refuseOlder(answer.sources, maxAgeMs, asOf === null ? clock.now() : Date.parse(asOf));
    const notes = notesOn(answer.sources, asOf);
    await print(answer, options, stdout, notes);
    for (const note of notes) stderr.write(`note: ${note}\n`);
  });
}

async function print(answer: Answer, options: Options, stdout: Output, notes: string[]): Promise<void> {
  const format = options.format ?? (options.json ? 'json' : 'table');
  const formatter = formatterOf(format, answer.columns, options, stdout);
  const limit = options.limit ?? (format === 'table' ? MOST_ROWS_OF_A_TABLE : Number.POSITIVE_INFINITY);
  const pieces = piecesOf(answer, formatter, limit, notes);
  // Those formats that keep values as they are.
  const raw = stdout.isTTY && (format === 'csv' || format === 'json' || format === 'ndjson');
  await deliver(stdout, raw ? madePrintable(pieces) : pieces);
  if (formatter.cut?.())
    notes.push('some values are cut to the width of the terminal: --format json prints them whole');
  const defused = formatter.defused?.() ?? 0;
  if (defused > 0)
    notes.push(
      `${defused} cells got an apostrophe, since a spreadsheet would run them as formulas: --exact keeps them`,
    );
}

async function* piecesOf(
  { batches }: Answer,
  formatter: Formatter,
  limit: number,
  notes: string[],
): AsyncGenerator<string> {
  yield formatter.head();
  let rows = 0;
  for await (const batch of batches) {
    const taken = batch.slice(0, limit - rows);
    rows += taken.length;
    if (taken.length > 0) yield formatter.rows(taken);
    if (taken.length < batch.length) {
      notes.push(`there are more rows than these ${rows}: raise --limit`);
      break;
    }
  }
  yield formatter.tail();
}

async function* madePrintable(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const piece of pieces) yield printableLines(piece);
}

type AnyFormatter = Formatter & { cut?(): boolean; defused?(): number };

function formatterOf(
  format: Format,
  columns: readonly Column[],
  { exact }: Options,
  stdout: Output,
): AnyFormatter {
  switch (format) {
    case 'table':
      return tableFormatter(
        columns,
        (stdout.isTTY && stdout.columns) || Number.POSITIVE_INFINITY,
        paintFor(stdout),
      );
    case 'json':
      return jsonFormatter(columns);
    case 'ndjson':
      return ndjsonFormatter(columns);
    case 'csv':
      return csvFormatter(columns, exact ?? false);
    case 'md':
      return mdFormatter(columns);
  }
}

async function readSql(given: string | undefined, file: string | undefined, stdin: Input): Promise<string> {
  if (given !== undefined && file !== undefined)
    throw new Failure('usage', 'give either SQL or --file, not both');
  if (file !== undefined) return readFile(file);
  if (given !== undefined && given !== '-') return given;
  if (given === undefined && stdin.isTTY)
    throw new Failure('usage', 'give some SQL, such as market-mirror query "SELECT * FROM freshness"');
  return await text(stdin);
}

function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    throw new Failure('usage', `--file: ${file} cannot be read (${(thrown as NodeJS.ErrnoException).code})`);
  }
}

function addParam(text: string, before: Params): Params {
  const [, name, typed, value] = /^[:@$]?(\w+)(:?)=(.*)$/su.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError(
      'write it as name=value, or name:=value for a number, null, true or false',
    );
  return { ...before, [name]: typed ? typedValue(value) : value };
}

function typedValue(text: string): string | number | bigint | null {
  const words: Record<string, number | null> = { null: null, true: 1, false: 0 };
  const word = words[text];
  if (word !== undefined) return word;
  if (/^-?\d+$/.test(text)) return BigInt(text);
  const number = Number(text);
  if (text.trim() === '' || Number.isNaN(number))
    throw new InvalidArgumentError(
      `'${text}' is no number, null, true or false; write name=value for a text`,
    );
  return number;
}

function parseCount(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('it is a whole number');
  return Number(text);
}
