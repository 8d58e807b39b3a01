/** `market-mirror status`: the first screen of an operator; its exit code is a health check. */

import { Command } from 'commander';
import { ageOf } from '../base/clock.ts';
import { Failure } from '../base/errors.ts';
import { printable, printableJson } from '../base/printable.ts';
import { readReporting } from '../config.ts';
import { bytes, count, duration, number, relative, withClockTimes } from '../output/numbers.ts';
import type { Output } from '../output/print.ts';
import { type Paint, paintFor, renderTable, type TableColumn } from '../output/text.ts';
import {
  type DatasetStatus,
  type Doing,
  type FoundReports,
  foldProblems,
  type Growth,
  type Phrase,
  type Problem,
  type ReportStatus,
  readGrowth,
  readStatus,
  relativeTextOf,
  type Status,
} from '../reading/status.ts';
import { mistakesByReport, readReportFiles } from '../reports/file.ts';
import { type Context, localMirror } from './context.ts';
import { withExamples } from './help.ts';
import { redrawing } from './live-lines.ts';
import { renderHead, renderQuota, renderWaits } from './status-and-plan.ts';

type Options = { verbose?: true; json?: true; watch?: true };

const REDRAW_EVERY_MS = 1_000;
const MAX_COLUMNS = 96;

export function statusCommand(context: Context): Command {
  const command = new Command('status')
    .option(
      '-v, --verbose',
      'also print what was learnt of the account, the calls, and how fast the mirror grows',
    )
    .option('--json', 'print the status as JSON')
    .option('--watch', 'go on, and print it again every second')
    .action((options: Options) => status(options, context));
  return withExamples(
    command,
    ['what is fresh, what is wrong, and what to do', 'status'],
    ['with calls, limits and growth', 'status -v'],
    ['the same, again every second', 'status --watch'],
    ['for monitoring; the exit code alone says whether all is well', 'status --json'],
  );
}

async function status({ verbose, json, watch }: Options, context: Context): Promise<void> {
  const { clock, stdout, signal, exit } = context;
  const { dir, datasets } = await localMirror(context);
  const show = watch && !json && stdout.isTTY ? await redrawing(stdout) : writing(stdout);
  do {
    const now = clock.now();
    const read = readStatus(dir, datasets, now, foundReports(context));
    const growth = verbose && !json ? readGrowth(dir, datasets, now) : null;
    show(json ? printableJson(read, watch ? 0 : 2) : renderStatus(read, growth, verbose ?? false, context));
    exit(read.exitCode);
    if (watch) await clock.sleep(REDRAW_EVERY_MS, signal).catch(() => undefined);
  } while (watch && !signal.aborted);
}

/** What the folder of reports holds; undefined, for what the mirror knows of it, where the settings of reports are wrong. */
function foundReports({ environment }: Context): FoundReports | undefined {
  try {
    const settings = readReporting(environment);
    if (!settings) return { names: [], mistakes: new Map() };
    const { reports, mistakes } = readReportFiles(settings.folder, settings.webhook !== undefined);
    return { names: reports.map(({ name }) => name), mistakes: mistakesByReport(mistakes) };
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    return { names: [], mistakes: new Map([['MIRROR_REPORTS', thrown.message]]) };
  }
}

const writing = (stdout: Output) => (text: string) => stdout.write(`${text}\n`);

/**
 * The status for people, without a line break at its end; coloured where the output is a terminal. Its lines take at most 100
 * columns, unless a name or a message of the API is long.
 * @param verbose with what has been learnt of the account, what was called, and `growth`.
 */
function renderStatus(
  status: Status,
  growth: Growth | null,
  verbose: boolean,
  { stdout, hint }: Context,
): string {
  const paint = paintFor(stdout);
  const { datasets, problems, at } = status;
  const more = [
    ...renderRate(status),
    ...renderWaits(status),
    renderCalls(status),
    renderGrowth(growth),
    paint('dim', status.file),
  ];
  return [
    ...renderProblems(problems, Date.parse(at), paint).map(hint),
    ...(problems.length > 0 ? [''] : []),
    renderDatasets(status, verbose, paint),
    ...(verbose ? datasets.flatMap((dataset) => renderDetails(dataset, paint)) : []),
    ...(status.reports.length > 0 ? ['', renderReports(status, paint)] : []),
    '',
    renderQuota(status),
    ...(verbose ? more : []),
    paint('dim', renderProcesses(status)),
  ].join('\n');
}

/** One cause is one problem, and what differs in the dataset alone is said once. */
function renderProblems(problems: readonly Problem[], now: number, paint: Paint): string[] {
  const text = (said: Phrase) => withClockTimes(relativeTextOf(said, now), now);
  return foldProblems(problems, text).map(({ level, jobs, effect, messageParts, adviceParts }) => {
    const mark = level === 'error' ? paint('red', '✗') : paint('yellow', '!');
    const about = jobs.length === 0 ? '' : `${paint('bold', jobs.join(', '))}: `;
    const message = printable(text(messageParts));
    const fits = message.length + (effect ?? '').length < MAX_COLUMNS;
    const more = effect === null ? '' : `${fits ? ': ' : '\n  '}${effect}`;
    return `${mark} ${about}${message}${more}\n  ${paint('dim', `→ ${printable(text(adviceParts))}`)}`;
  });
}

function renderDatasets({ datasets, daemon, at }: Status, verbose: boolean, paint: Paint): string {
  const now = Date.parse(at);
  const count = (value: number) => (value > 0 ? paint('yellow', number(value)) : '0');
  const columns: TableColumn<DatasetStatus>[] = [
    { name: 'dataset', cell: ({ job }) => job },
    { name: 'rows', align: 'right', cell: renderRows },
    { name: 'proven', align: 'right', cell: (dataset) => renderProven(dataset, paint) },
    { name: 'seen', align: 'right', cell: ({ seenAsOf }) => ago(seenAsOf, now) },
    { name: 'verdict', cell: ({ verdict }) => verdict ?? '–' },
    { name: 'now', cell: ({ doing }) => (verbose ? renderProgress(doing, now) : renderState(doing, now)) },
    { name: 'changed', cell: ({ lastChange }) => ago(lastChange, now) },
    // Without a daemon there is no next run.
    { name: 'next run', cell: (dataset) => (daemon ? renderNextRun(dataset, now) : '–') },
  ];
  const counts: TableColumn<DatasetStatus>[] = [
    { name: 'quarantine', align: 'right', cell: ({ quarantined }) => count(quarantined) },
    { name: 'drift', align: 'right', cell: ({ drifts }) => count(drifts) },
  ];
  return renderTable(verbose ? [...columns, ...counts] : columns, datasets, paint);
}

function renderReports({ reports, at }: Status, paint: Paint): string {
  const columns: TableColumn<ReportStatus>[] = [
    { name: 'report', cell: ({ report }) => printable(report) },
    { name: 'last run', align: 'right', cell: ({ lastRun }) => ago(lastRun, Date.parse(at)) },
    { name: 'rows', align: 'right', cell: ({ rows }) => (rows === null ? '–' : number(rows)) },
    { name: 'new', align: 'right', cell: ({ newRows }) => (newRows === null ? '–' : number(newRows)) },
    { name: 'state', cell: (report) => renderReportState(report, paint) },
  ];
  return renderTable(columns, reports, paint);
}

function renderReportState({ error, waits, unsent, lastRun }: ReportStatus, paint: Paint): string {
  if (error !== null) return paint('red', 'failed');
  if (unsent !== null) return paint('red', 'not told');
  if (waits !== null) return paint('yellow', 'waits for a proof');
  return lastRun === null ? 'not run yet' : paint('green', 'ok');
}

function renderRows({ rows, held }: DatasetStatus): string {
  return held > 0 ? `${number(rows)} (${number(held)} held)` : number(rows);
}

/** A time of the past, even where rounding puts it ahead. */
function ago(time: string | null, now: number): string {
  const age = time === null ? null : ageOf(Date.parse(time), now);
  return age === null ? relative(time, now) : `${duration(age)} ago`;
}

function renderProven({ completeAsOf, ageSeconds, fresh }: DatasetStatus, paint: Paint): string {
  const unknown = completeAsOf === null ? 'never' : 'unknown';
  const ago = ageSeconds === null ? unknown : `${duration(ageSeconds * 1_000)} ago`;
  return paint(fresh ? 'green' : 'red', ago);
}

/** What is done for it, in a word or some. */
function renderState({ kind, state, rows, total, until, reason }: Doing, now: number): string {
  switch (state) {
    case 'running':
      if (kind === 'glance') return 'glance';
      return total
        ? `walk, ${Math.floor((100 * Math.min(rows, total)) / total)} %`
        : `walk, ${number(rows)} rows`;
    case 'waiting':
      return `waits ${until === null ? '' : duration(Date.parse(until) - now)} (${reason})`;
    case 'failed':
      return kind === 'glance' ? 'glance failed' : 'failed';
    default:
      return state;
  }
}

/** The same, with how far it is. */
function renderProgress(doing: Doing, now: number): string {
  const { kind, state, pages, rows, total } = doing;
  if (state !== 'running' && state !== 'waiting' && state !== 'stopped') return renderState(doing, now);
  const of = total === null ? '' : ` of ${number(total)}`;
  const page = `page ${number(pages)}${kind === 'glance' ? '' : `, ${number(rows)}${of} rows`}`;
  const place = `${kind === 'glance' ? 'glance, ' : ''}${pages === 0 ? 'before its first page' : page}`;
  return state === 'running' ? place : `${renderState(doing, now)}, ${place}`;
}

function renderNextRun({ nextRun }: DatasetStatus, now: number): string {
  return nextRun !== null && Date.parse(nextRun) <= now ? 'due' : relative(nextRun, now);
}

/** Where its new rows were found, if that was learnt, and rows that may be gone, on one line. */
function renderDetails({ job, head, held, goneUpstream }: DatasetStatus, paint: Paint): string[] {
  const gone = goneUpstream ?? 0;
  const details = [
    ...(head.why === 'in-head' || head.why === 'elsewhere' ? [renderHead({ head })] : []),
    ...(held > 0 ? [`${count(held, 'row')} held, which the last proof did not show`] : []),
    ...(gone > 0 ? [`at least ${count(gone, 'row')} ${gone === 1 ? 'is' : 'are'} gone upstream`] : []),
  ];
  return details.length > 0 ? [paint('dim', `${job}: ${details.join('; ')}`)] : [];
}

/** Nothing while no limit was met. */
function renderRate({ rate, concurrency }: Status): string[] {
  if (!rate || !concurrency) return [];
  const inFlight = `Concurrency: at most ${number(concurrency.allowed)} in flight (${concurrency.evidence})`;
  if (rate.perSecond === null) return [inFlight];
  return [`Rate: ${rate.perSecond.toFixed(1)} calls a second (${rate.evidence})`, inFlight];
}

function renderCalls({ calls }: Status): string {
  const { today, lastHour, lastDay, byJob, limitedLastDay } = calls;
  const jobs = Object.entries(byJob).map(
    ([job, of]) => `${job} ${number(of.lastHour)}, ${number(of.lastDay)}`,
  );
  return [
    `Calls: ${number(today)} today`,
    `last hour ${number(lastHour)}, last day ${number(lastDay)}${jobs.length > 0 ? ` (${jobs.join('; ')})` : ''}`,
    `answered 429 in the last day: ${number(limitedLastDay)}`,
  ].join('; ');
}

const LONG_DAYS = 3_650;

function renderGrowth(growth: Growth | null): string {
  if (growth === null) return 'Growth: not known before the mirror is a day old';
  const { bytesPerDay, freeBytes } = growth;
  const days = freeBytes / Math.max(1, bytesPerDay);
  const lasts = days > LONG_DAYS ? 'more than 10 years' : `about ${number(days, 0)} days`;
  return `Growth: about ${bytes(bytesPerDay)} a day; the ${bytes(freeBytes)} free on the disk last ${lasts}`;
}

function renderProcesses({ daemon, serve, datasets, at }: Status): string {
  const lives = daemon ? `daemon running (process ${daemon.pid})` : 'no daemon running';
  const syncs = new Set(datasets.flatMap(({ doing }) => doing.sync ?? []));
  const running = [
    lives,
    ...[...syncs].map((pid) => `sync (process ${pid}) is ${doingOf(pid, datasets)}`),
  ].join('; ');
  if (!serve) return running;
  const { pid, url, since } = serve;
  const began = `process ${pid}, began ${relative(since, Date.parse(at))}`;
  return `${running}; ${url === null ? `service starting (process ${pid})` : `serving ${printable(url)} (${began})`}`;
}

/** A sync waits where none of its datasets is read. */
function doingOf(sync: number, datasets: readonly DatasetStatus[]): string {
  const isReading = datasets.some(
    (dataset) => dataset.doing.sync === sync && dataset.doing.state === 'running',
  );
  return isReading ? 'running' : 'waiting';
}
