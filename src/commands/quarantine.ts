/** `market-mirror quarantine`: the rows that broke the contract, and a second look at them after a fix. */

import { Argument, Command } from 'commander';
import type { LocalApp } from '../app.ts';
import { exitCodes, Failure, worstExitCode } from '../base/errors.ts';
import { printable, printableJson } from '../base/printable.ts';
import { readLocalConfig } from '../config.ts';
import { findJobs, listJobs } from '../job/list.ts';
import type { Job } from '../job.ts';
import { count, number } from '../output/numbers.ts';
import { type QuarantinedRow, readQuarantine } from '../reading/quarantine.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';
import { withProgressLine } from './live-lines.ts';

type Options = { json?: true };

export function quarantineCommand(context: Context): Command {
  const command = new Command('quarantine')
    .addArgument(
      new Argument('[action]', 'list them, or retry: validate them again after a fix')
        .choices(['list', 'retry'])
        .default('list'),
    )
    .argument('[job...]', 'only the rows of these jobs')
    .option('--json', 'print the rows, or the result, as JSON')
    .action((action: 'list' | 'retry', jobs: string[], options: Options) =>
      action === 'list' ? list(jobs, options, context) : retry(jobs, options, context),
    );
  return withExamples(
    command,
    ['which rows broke the contract, and why', 'quarantine'],
    ['after a fix of the contract', 'quarantine retry ai-signals'],
  );
}

async function list(
  names: string[],
  { json }: Options,
  { environment, stdout, hint }: Context,
): Promise<void> {
  const { dir } = readLocalConfig(environment);
  const jobs = namedOrAll(await listJobs(), names).map(({ name }) => name);
  let rows = 0;
  readQuarantine(dir, jobs, (row) => {
    stdout.write(json ? `${rows === 0 ? '[' : ','}\n${printableJson(row)}` : renderRow(row));
    rows += 1;
  });
  if (json) stdout.write(rows === 0 ? '[]\n' : '\n]\n');
  else stdout.write(hint(summary(rows)));
}

function renderRow(row: QuarantinedRow): string {
  const { job, key, problems, body, times, firstSeenAt, lastSeenAt, requestId } = row;
  const reasons = problems.map(
    ({ path, expected, received }) =>
      `  ${printable(path) || 'the row'}: expected ${printable(expected)}, received ${printable(received)}\n`,
  );
  const name = key === null ? `a row without a key, ${excerpt(body)}` : printable(key);
  const seen =
    times === 1 ? `once, ${lastSeenAt}` : `${number(times)} times, ${firstSeenAt} to ${lastSeenAt}`;
  const request = requestId === null ? '' : `; X-Request-ID ${printable(requestId)}`;
  return `${job} ${name}\n${reasons.join('')}  refused ${seen}${request}\n`;
}

const LONGEST_EXCERPT = 80;

function excerpt(body: string): string {
  return printable(body.length > LONGEST_EXCERPT ? `${body.slice(0, LONGEST_EXCERPT)}…` : body);
}

function summary(rows: number): string {
  if (rows === 0) return 'no row is in quarantine\n';
  return `\n${count(rows, 'row')} in quarantine; after a fix of the contract: market-mirror quarantine retry\n`;
}

async function retry(names: string[], { json }: Options, context: Context): Promise<void> {
  // Loaded only here: it brings what writes to the mirror, which the list does without.
  const { openLocalApp } = await import('../app.ts');
  const app = await openLocalApp(context);
  try {
    const outcomes = await withProgressLine(context, () =>
      namedOrAll(app.jobs, names).map((job) => retryJob(app, job)),
    );
    if (json) context.stdout.write(`${printableJson(outcomes)}\n`);
    else for (const outcome of outcomes) context.stdout.write(renderOutcome(outcome));
    context.exit(worstExitCode(outcomes.map(({ exitCode }) => exitCode)));
  } finally {
    app.close();
  }
}

type Outcome = Partial<Omit<ReturnType<LocalApp['retryRefused']>, 'job'>> & {
  job: string;
  exitCode: number;
  message: string | null;
};

/** A job that is being mirrored keeps no other from its retry. */
function retryJob(app: LocalApp, job: Job): Outcome {
  try {
    return { ...app.retryRefused(job), exitCode: exitCodes.done, message: null };
  } catch (thrown) {
    if (!(thrown instanceof Failure) || thrown.kind !== 'incomplete') throw thrown;
    return { job: job.name, exitCode: thrown.exitCode, message: thrown.message };
  }
}

function renderOutcome({ job, tried = 0, mirrored = 0, gone = 0, refused = 0, message }: Outcome): string {
  if (message !== null) return `${message}\n`;
  if (tried === 0) return `${job}: no row is in quarantine\n`;
  const parts = [`${number(mirrored)} mirrored`, `${number(refused)} still refused`];
  if (gone > 0) parts.push(`${number(gone)} gone upstream meanwhile`);
  return `${job}: ${number(tried)} tried, ${parts.join(', ')}\n`;
}

const namedOrAll = <Named extends { name: string }>(jobs: readonly Named[], names: readonly string[]) =>
  names.length > 0 ? findJobs(jobs, names) : jobs;
