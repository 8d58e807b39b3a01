/** What an export is to be, from the words of the command line. */

import { extname } from 'node:path';
import { isoTime } from '../../clock.ts';
import { readLocalConfig } from '../../config.ts';
import { Failure } from '../../errors.ts';
import type { ListedJob } from '../../job-list.ts';
import { nearest } from '../../near.ts';
import { changedSince, type ExportFormat, exportFormats, type Order } from '../../reading/export.ts';
import { version } from '../../version.ts';
import type { AskingOptions } from '../asking/options.ts';
import { type Input, parseTime, readAsOf, readSql } from '../asking.ts';
import type { Context } from '../context.ts';

export type OrderOptions = AskingOptions & {
  file?: string;
  output?: string;
  format?: ExportFormat;
  since?: string;
  exact?: true;
  json?: true;
};

/**
 * @param what a job, a table, a view or SQL.
 * @throws Failure `usage` for what does not go together.
 */
export async function readOrder(
  what: string | undefined,
  options: OrderOptions,
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
  const since = options.since === undefined ? null : parseSince(options.since, clock.now());
  const sql =
    job && since !== null
      ? changedSince(readLocalConfig(environment).dir, job.table, since, clock.now())
      : job
        ? `SELECT * FROM "${job.table}"`
        : named !== undefined
          ? `SELECT * FROM ${tableName(named, jobs)}`
          : await readSql(what, options.file, stdin);
  if (since !== null && !job) throw new Failure('usage', '--since goes with a job, not with SQL');
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
const LATEST_TIME = 8.64e15;

function parseSince(text: string, now: number): string {
  if (!/^\d+$/.test(text)) return parseTime(text, '--since', now);
  return isoTime(Math.min(Number(text), LATEST_TIME));
}

function formatOf(output: string | undefined): ExportFormat {
  if (output === undefined) return 'csv';
  const named = extname(output).slice(1).toLowerCase();
  const format = exportFormats.find((format) => format === (named === 'jsonl' ? 'ndjson' : named));
  if (format) return format;
  throw new Failure('usage', `${output} does not say its form: add --format ${exportFormats.join(', ')}`);
}
