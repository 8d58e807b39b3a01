/** `market-mirror status`: the first screen of an operator; its exit code is a health check. */

import Table from 'cli-table3';
import { Command } from 'commander';
import { createLogUpdate } from 'log-update';
import { readLocalConfig, readSchedules } from '../config.ts';
import { tableOf } from '../job.ts';
import { loadJobs } from '../load-jobs.ts';
import { type DatasetStatus, type Problem, readStatus, type Status } from '../report/status.ts';
import type { Context, Output } from './context.ts';
import { type Paint, paintFor } from './format/colours.ts';
import { borderless, trimLines } from './format/table.ts';
import { duration, number, relative } from './format/words.ts';
import { printable } from './printable.ts';

type Options = { json?: true; watch?: true };

const REDRAW_EVERY_MS = 1_000;

export function statusCommand(context: Context): Command {
  return new Command('status')
    .description('freshness, progress, quota and problems of the mirror; makes no call')
    .option('--json', 'print the status as JSON')
    .option('--watch', 'go on, and print it again every second')
    .action((options: Options) => status(options, context));
}

async function status(options: Options, { environment, clock, stdout, signal, exit }: Context) {
  const { dir } = readLocalConfig(environment);
  const jobs = await loadJobs();
  const schedules = readSchedules(
    environment,
    Object.fromEntries(jobs.map((job) => [job.name, job.schedule])),
  );
  const datasets = jobs.map((job) => ({
    name: job.name,
    table: tableOf(job),
    schedule: schedules[job.name] ?? 'off',
  }));
  const show = shower(options, stdout);
  do {
    const read = readStatus(dir, datasets, clock.now());
    show(read);
    exit(read.exitCode);
    if (options.watch) await clock.sleep(REDRAW_EVERY_MS, signal).catch(() => undefined);
  } while (options.watch && !signal.aborted);
}

function shower({ json, watch }: Options, stdout: Output): (read: Status) => void {
  if (json) return (read) => stdout.write(`${JSON.stringify(read, null, watch ? 0 : 2)}\n`);
  if (!watch || !stdout.isTTY) return (read) => stdout.write(`${renderStatus(read, stdout)}\n`);
  const redraw = createLogUpdate(stdout as NodeJS.WriteStream, { showCursor: true });
  return (read) => redraw(renderStatus(read, stdout));
}

/** The status for people, without a line break at its end; coloured where `output` is a terminal. */
export function renderStatus(status: Status, output: Output): string {
  const paint = paintFor(output);
  return [
    ...status.problems.map((problem) => renderProblem(problem, paint)),
    ...(status.problems.length > 0 ? [''] : []),
    renderDatasets(status, paint),
    '',
    renderQuota(status),
    renderCalls(status),
    renderDaemon(status, paint),
  ].join('\n');
}

function renderProblem({ level, job, message, advice }: Problem, paint: Paint): string {
  const mark = level === 'error' ? paint('red', '✗') : paint('yellow', '!');
  const about = job === null ? '' : `${paint('bold', job)}: `;
  return `${mark} ${about}${printable(message)}\n  ${paint('dim', `→ ${printable(advice)}`)}`;
}

const heads = ['dataset', 'rows', 'age', 'verdict', 'now', 'last change', 'next run', 'quarantine', 'drift'];

function renderDatasets({ datasets, at }: Status, paint: Paint): string {
  const now = Date.parse(at);
  const table = new Table({
    head: heads.map((head) => paint('dim', head)),
    style: { head: [], border: [], compact: true, 'padding-left': 0, 'padding-right': 2 },
    colAligns: heads.map((head) =>
      ['rows', 'age', 'quarantine', 'drift'].includes(head) ? 'right' : 'left',
    ),
    chars: borderless,
  });
  for (const dataset of datasets)
    table.push([
      dataset.job,
      number(dataset.rows),
      renderAge(dataset, paint),
      dataset.verdict ?? '–',
      renderDoing(dataset, now),
      relative(dataset.lastChange, now),
      renderNextRun(dataset, now),
      dataset.quarantined > 0 ? paint('yellow', number(dataset.quarantined)) : '0',
      dataset.drifts > 0 ? paint('yellow', number(dataset.drifts)) : '0',
    ]);
  return trimLines(table.toString());
}

function renderAge({ ageSeconds, fresh }: DatasetStatus, paint: Paint): string {
  const age = ageSeconds === null ? 'never' : duration(ageSeconds * 1_000);
  return paint(fresh ? 'green' : 'red', age);
}

function renderDoing({ doing }: DatasetStatus, now: number): string {
  const { state, pages, rows, total, until, reason } = doing;
  const progress = `page ${number(pages)}, ${number(rows)}${total === null ? '' : ` of ${number(total)}`} rows`;
  switch (state) {
    case 'running':
      return progress;
    case 'waiting':
      return `waits ${relative(until, now)} (${reason}), ${progress}`;
    case 'stopped':
      return `stopped, ${progress}`;
    default:
      return state;
  }
}

function renderNextRun({ nextRun }: DatasetStatus, now: number): string {
  return nextRun !== null && Date.parse(nextRun) <= now ? 'due' : relative(nextRun, now);
}

function renderQuota({ quota, at }: Status): string {
  if (quota.remaining === null) return 'Quota: the API has not reported any yet';
  const of = quota.limit === null ? '' : ` of ${number(quota.limit)}`;
  return `Quota: ${number(quota.remaining)}${of} calls left, as reported ${relative(quota.reportedAt, Date.parse(at))}`;
}

function renderCalls({ calls }: Status): string {
  const jobs = Object.entries(calls.todayByJob).map(([job, count]) => `${job} ${number(count)}`);
  const byJob = jobs.length > 0 ? ` (${jobs.join(', ')})` : '';
  return `Calls today: ${number(calls.today)}${byJob}; answered 429 in the last day: ${number(calls.limitedLastDay)}`;
}

function renderDaemon({ daemon, file }: Status, paint: Paint): string {
  return paint('dim', `${file}; ${daemon ? `daemon running (process ${daemon.pid})` : 'no daemon running'}`);
}
