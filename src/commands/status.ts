/** `market-mirror status`: the first screen of an operator; its exit code is a health check. */

import { Command } from 'commander';
import { ageOf } from '../clock.ts';
import type { Output } from '../output/print.ts';
import {
  duration,
  number,
  type Paint,
  paintFor,
  plural,
  relative,
  renderTable,
  type TableColumn,
} from '../output/text.ts';
import { printable, printableJson } from '../printable.ts';
import {
  type DatasetStatus,
  type Problem,
  readStatus,
  type ServeStatus,
  type Status,
} from '../reading/status.ts';
import { type Context, localMirror } from './context.ts';
import { withExamples } from './help.ts';
import { renderAccount, renderHead, renderQuota, renderWaits } from './status-and-plan.ts';

type Options = { json?: true; watch?: true };

const REDRAW_EVERY_MS = 1_000;

export function statusCommand(context: Context): Command {
  const command = new Command('status')
    .option('--json', 'print the status as JSON')
    .option('--watch', 'go on, and print it again every second')
    .action((options: Options) => status(options, context));
  return withExamples(
    command,
    ['the first screen of an operator', 'status'],
    ['the same, again every second', 'status --watch'],
    ['for monitoring; the exit code alone says whether all is well', 'status --json'],
  );
}

async function status(options: Options, context: Context): Promise<void> {
  const { clock, stdout, signal, exit } = context;
  const { dir, datasets, spending } = await localMirror(context);
  const show = await shower(options, stdout);
  do {
    const read = readStatus(dir, datasets, spending, clock.now());
    show(read);
    exit(read.exitCode);
    if (options.watch) await clock.sleep(REDRAW_EVERY_MS, signal).catch(() => undefined);
  } while (options.watch && !signal.aborted);
}

async function shower({ json, watch }: Options, stdout: Output): Promise<(read: Status) => void> {
  if (json) return (read) => stdout.write(`${printableJson(read, watch ? 0 : 2)}\n`);
  if (!watch || !stdout.isTTY) return (read) => stdout.write(`${renderStatus(read, stdout)}\n`);
  const { createLogUpdate } = await import('log-update');
  const redraw = createLogUpdate(stdout as NodeJS.WriteStream, { showCursor: true });
  return (read) => redraw(renderStatus(read, stdout));
}

/** The status for people, without a line break at its end; coloured where `output` is a terminal. */
function renderStatus(status: Status, output: Output): string {
  const paint = paintFor(output);
  return [
    ...status.problems.map((problem) => renderProblem(problem, paint)),
    ...(status.problems.length > 0 ? [''] : []),
    renderDatasets(status, paint),
    ...status.datasets.flatMap((dataset) => renderHints(dataset, paint)),
    '',
    ...renderAccount(status),
    renderQuota(status),
    ...renderPace(status),
    ...renderWaits(status),
    renderCalls(status),
    renderProcesses(status, paint),
  ].join('\n');
}

function renderProblem({ level, job, message, advice }: Problem, paint: Paint): string {
  const mark = level === 'error' ? paint('red', '✗') : paint('yellow', '!');
  const about = job === null ? '' : `${paint('bold', job)}: `;
  return `${mark} ${about}${printable(message)}\n  ${paint('dim', `→ ${printable(advice)}`)}`;
}

function renderDatasets({ datasets, daemon, at }: Status, paint: Paint): string {
  const now = Date.parse(at);
  const count = (value: number) => (value > 0 ? paint('yellow', number(value)) : '0');
  const columns: TableColumn<DatasetStatus>[] = [
    { name: 'dataset', cell: ({ job }) => job },
    { name: 'rows', align: 'right', cell: ({ rows }) => number(rows) },
    { name: 'proven', align: 'right', cell: (dataset) => renderProven(dataset, paint) },
    { name: 'seen', align: 'right', cell: ({ seenAsOf }) => ago(seenAsOf, now) },
    { name: 'verdict', cell: ({ verdict }) => verdict ?? '–' },
    { name: 'now', cell: (dataset) => renderDoing(dataset, now) },
    { name: 'last change', cell: ({ lastChange }) => ago(lastChange, now) },
    // Without a daemon nobody runs it.
    { name: 'next run', cell: (dataset) => (daemon ? renderNextRun(dataset, now) : '–') },
    { name: 'quarantine', align: 'right', cell: ({ quarantined }) => count(quarantined) },
    { name: 'drift', align: 'right', cell: ({ drifts }) => count(drifts) },
  ];
  return renderTable(columns, datasets, paint);
}

/** A time of the past; one that is ahead by what may be rounding is no other. */
function ago(time: string | null, now: number): string {
  const age = time === null ? null : ageOf(Date.parse(time), now);
  return age === null ? relative(time, now) : `${duration(age)} ago`;
}

function renderProven({ completeAsOf, ageSeconds, fresh }: DatasetStatus, paint: Paint): string {
  const unknown = completeAsOf === null ? 'never' : 'unknown';
  const ago = ageSeconds === null ? unknown : `${duration(ageSeconds * 1_000)} ago`;
  return paint(fresh ? 'green' : 'red', ago);
}

function renderDoing({ doing }: DatasetStatus, now: number): string {
  const { kind, state, pages, rows, total, until, reason } = doing;
  const place = pages === 0 ? 'before its first page' : `page ${number(pages)}`;
  const ofAll = total === null ? '' : ` of ${number(total)}`;
  const progress =
    kind === 'glance' ? `glance, ${place}` : pages === 0 ? place : `${place}, ${number(rows)}${ofAll} rows`;
  switch (state) {
    case 'running':
      return progress;
    case 'waiting':
      return `waits ${relative(until, now)} (${reason}), ${progress}`;
    case 'stopped':
      return `stopped, ${progress}`;
    case 'failed':
      return kind === 'glance' ? 'glance failed' : 'failed';
    default:
      return state;
  }
}

function renderNextRun({ nextRun }: DatasetStatus, now: number): string {
  return nextRun !== null && Date.parse(nextRun) <= now ? 'due' : relative(nextRun, now);
}

/** What was learnt of its head, if anything yet, and what it says of rows that are gone, on one line. */
function renderHints({ job, head, graded, held, goneUpstream }: DatasetStatus, paint: Paint): string[] {
  const gone = goneUpstream ?? 0;
  const hints = [
    ...(head.why === 'in-head' || head.why === 'elsewhere' ? [renderHead({ head, graded })] : []),
    ...(held > 0 ? [`${number(held)} ${plural(held, 'row')} held, which the last proof did not show`] : []),
    ...(gone > 0
      ? [`at least ${number(gone)} ${plural(gone, 'row')} ${gone === 1 ? 'is' : 'are'} gone upstream`]
      : []),
  ];
  return hints.length > 0 ? [paint('dim', `${job}: ${hints.join('; ')}`)] : [];
}

function renderPace({ rate, concurrency }: Status): string[] {
  if (!rate || !concurrency) return [];
  const pace = rate.perSecond === null ? 'no limit was met' : `${rate.perSecond.toFixed(1)} calls a second`;
  const known = rate.perSecond === null ? rate.evidence : `${rate.confidence}: ${rate.evidence}`;
  return [`Pace: ${pace} (${known}); ${number(concurrency.allowed)} at once (${concurrency.evidence})`];
}

function renderCalls({ calls }: Status): string {
  const jobs = Object.entries(calls.byJob).map(
    ([job, { lastHour, lastDay }]) => `${job} ${number(lastHour)} / ${number(lastDay)}`,
  );
  const byJob = jobs.length > 0 ? ` (${jobs.join(', ')})` : '';
  const today = `Calls today: ${number(calls.today)}`;
  const lately = `in the last hour / day: ${number(calls.lastHour)} / ${number(calls.lastDay)}${byJob}`;
  const saved = `; saved by one-call proofs today / in all: ${number(calls.savedToday)} / ${number(calls.savedInAll)}`;
  return `${today}; ${lately}; answered 429 in the last day: ${number(calls.limitedLastDay)}${calls.savedInAll > 0 ? saved : ''}`;
}

function renderProcesses({ daemon, serve, file, at }: Status, paint: Paint): string {
  const running = daemon ? `daemon running (process ${daemon.pid})` : 'no daemon running';
  return paint('dim', [file, running, ...(serve ? [renderService(serve, at)] : [])].join('; '));
}

function renderService({ pid, url, since }: ServeStatus, at: string): string {
  if (url === null) return `service starting (process ${pid})`;
  return `serving ${printable(url)} (process ${pid}, began ${relative(since, Date.parse(at))})`;
}
