/** `market-mirror export <job or sql>`: a dataset or an answer as a file, with a receipt beside it. */

import { extname } from 'node:path';
import { Command, Option } from 'commander';
import { isoTime } from '../base/clock.ts';
import { Failure } from '../base/errors.ts';
import { nearest } from '../base/near.ts';
import { printable, printableJson, printableLines } from '../base/printable.ts';
import { version } from '../base/version.ts';
import { readLocalConfig } from '../config.ts';
import { type ListedJob, listJobs } from '../job/list.ts';
import { isJsonForm } from '../output/answer.ts';
import { describeDefused } from '../output/forms.ts';
import { count } from '../output/numbers.ts';
import { type Output, type Write, writerTo } from '../output/print.ts';
import {
  changedSince,
  type ExportFormat,
  exportAnswer,
  exportFormats,
  type Order,
  openFiles,
  wholeSql,
} from '../reading/export.ts';
import { type RunQuery, withQueryProcess } from '../reading/query.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';
import { withProgressLine } from './live-lines.ts';
import {
  askMirror,
  type Input,
  type QueryOptions,
  readAsOf,
  readPastTime,
  readSql,
  withQueryOptions,
} from './query.ts';

type Options = QueryOptions & {
  output?: string;
  format?: ExportFormat;
  since?: string;
  withBody?: true;
  force?: true;
};

export function exportCommand(context: Context, stdin: Input = process.stdin): Command {
  const command = new Command('export')
    .argument(
      '[what]',
      'a job, a table, a view or SQL; SQL from standard input if neither it nor --file is given',
    )
    .option('-o, --output <file>', 'the file to write; standard output unless given, or if it is -')
    .addOption(
      new Option('--format <format>', 'the format (default: by the name of the file, else csv)').choices(
        exportFormats,
      ),
    )
    .option('--file <file>', 'read the SQL from a file')
    .option(
      '--since <seq or time>',
      'of a job: only rows that came, changed or went since a time, or since the seq of a receipt',
    )
    .option(
      '--with-body',
      'of a job, table or view: also _body, the row as received, which has all columns once more',
    )
    .option('--force', 'replace an existing file')
    .option('--exact', 'CSV: keep cells that a spreadsheet would run as formulas')
    .option('--json', 'print the receipt')
    .action((what: string | undefined, { output, ...others }: Options) =>
      withQueryProcess((ask) =>
        runExport(
          ask,
          what,
          { ...others, ...(output !== undefined && output !== '-' && { output }) },
          context,
          stdin,
        ),
      ),
    );
  return withExamples(
    withQueryOptions(command),
    ['a dataset with typed columns, and its receipt', 'export ai-signals -o signals.parquet'],
    ['what changed in the last two hours', 'export news --since 2h -o news.ndjson'],
    [
      'the result of a query, from data of the last ten minutes',
      'export --max-age 10m -o assets.csv "SELECT DISTINCT asset FROM ai_signals"',
    ],
  );
}

async function runExport(
  ask: RunQuery,
  what: string | undefined,
  options: Options,
  context: Context,
  stdin: Input,
): Promise<void> {
  const { stdout, stderr } = context;
  const jobs = await listJobs();
  const order = await readOrder(what, options, jobs, context, stdin);
  const { sql, params, asOf, format } = order;
  // The paths are taken before the work begins.
  const files =
    options.output === undefined ? undefined : await openFiles(options.output, options.force ?? false);
  try {
    const write = files ? files.write : writerFor(order, stdout);
    const question = {
      ...{ sql, params, asOf, infersTypes: format === 'parquet', json: isJsonForm(format) },
      isWhole: order.job !== null && order.since === null,
    };
    const exported = await askMirror(ask, question, jobs, options, context, async (answer) => {
      const work = () => exportAnswer(answer, order, write);
      // Rows that are printed show by themselves how far it is.
      const exported = await (stdout.isTTY && !files ? work() : withProgressLine(context, work));
      if (exported.csv?.defused) answer.notes.push(describeDefused(exported.csv.defused));
      return exported;
    });
    if (!files) return;
    const receipt = await files.commit(exported);
    if (options.json) stdout.write(`${printableJson(receipt)}\n`);
    else
      stderr.write(
        `${printable(receipt.file)}: ${count(receipt.rows, 'row')}; its receipt is ${printable(receipt.file)}.meta.json\n`,
      );
  } finally {
    await files?.close();
  }
}

function writerFor({ format }: Order, stdout: Output): Write {
  if (stdout.isTTY && format === 'parquet')
    throw new Failure('usage', 'parquet is nothing to look at: name a file with --output');
  const write = writerTo(stdout);
  return stdout.isTTY ? (piece) => write(typeof piece === 'string' ? printableLines(piece) : piece) : write;
}

/**
 * What the export is to be, from the words of the command line.
 * @param what a job, a table, a view or SQL.
 * @throws Failure `usage` for what does not go together.
 */
async function readOrder(
  what: string | undefined,
  options: Options,
  jobs: readonly ListedJob[],
  context: Context,
  stdin: Input,
): Promise<Order> {
  const { clock, environment } = context;
  if (options.json && options.output === undefined)
    throw new Failure('usage', '--json prints the receipt of a file: name one with --output');
  const named =
    options.file === undefined && what !== undefined && /^[\w-]*\w[\w-]*$/.test(what) ? what : undefined;
  const job = jobs.find((job) => job.name === named || job.table === named);
  if (options.since !== undefined && !job)
    throw new Failure('usage', '--since goes with a job, not with SQL');
  const since = options.since === undefined ? null : parseSince(options.since, clock.now());
  const { dir } = readLocalConfig(environment);
  const withBody = options.withBody === true;
  if (withBody && named === undefined)
    throw new Failure('usage', '--with-body goes with a job, a table or a view, not with SQL');
  const sql =
    job && since !== null
      ? changedSince(dir, job, since, clock.now(), withBody)
      : named !== undefined
        ? wholeSql(dir, job?.table ?? tableName(named, jobs), withBody)
        : await readSql(what, options.file, stdin);
  return {
    format: options.format ?? formatOf(options.output),
    exact: options.exact ?? false,
    sql,
    params: options.param ?? {},
    job: job?.name ?? null,
    asOf: readAsOf(options, context),
    since,
    exportedAt: isoTime(clock.now()),
    by: `market-mirror ${version()}`,
  };
}

/** The word where it can be the name of a table or view. */
function tableName(word: string, jobs: readonly ListedJob[]): string {
  if (/^\w+$/.test(word)) return word;
  const names = jobs.map(({ name }) => name);
  throw new Failure(
    'usage',
    `there is no job '${word}'${nearest(word, names) || `; known are ${names.join(', ')}`}`,
  );
}

/** Of JavaScript. */
const LATEST_TIME_MS = 8.64e15;
/** A seq is a time in milliseconds, and no mirror is older than the year 2001. */
const LEAST_SEQ = 1e12;

function parseSince(text: string, now: number): string {
  if (!/^\d+$/.test(text)) return readPastTime(text, '--since', now);
  const seq = Number(text);
  if (seq > 0 && seq < LEAST_SEQ)
    throw new Failure('usage', `--since ${text} is no seq of a receipt; write a day as 2026-03-01`);
  return isoTime(Math.min(seq, LATEST_TIME_MS));
}

function formatOf(output: string | undefined): ExportFormat {
  if (output === undefined) return 'csv';
  const ending = extname(output).slice(1).toLowerCase();
  const format = exportFormats.find((format) => format === (ending === 'jsonl' ? 'ndjson' : ending));
  if (format) return format;
  if (output === '') throw new Failure('usage', '-o: the name of the file is empty');
  throw new Failure('usage', `${output} does not say its format: add --format ${exportFormats.join(', ')}`);
}
