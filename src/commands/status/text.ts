/** The status for people: problems first, then a row a dataset, then what the account may spend. */

import type { Output } from '../../output/stream.ts';
import { type Paint, paintFor } from '../../output/stream.ts';
import { type Align, duration, inColumns, number, relative } from '../../output/text.ts';
import { printable } from '../../printable.ts';
import type { DatasetStatus, Problem, Status } from '../../reading/status.ts';
import { renderQuota, renderWaits } from '../limits-text.ts';

/** The status for people, without a line break at its end; coloured where `output` is a terminal. */
export function renderStatus(status: Status, output: Output): string {
  const paint = paintFor(output);
  return [
    ...status.problems.map((problem) => renderProblem(problem, paint)),
    ...(status.problems.length > 0 ? [''] : []),
    renderDatasets(status, paint),
    '',
    renderQuota(status),
    ...renderPace(status),
    ...renderWaits(status),
    renderCalls(status),
    renderDaemon(status, paint),
  ].join('\n');
}

function renderProblem({ level, job, message, advice }: Problem, paint: Paint): string {
  const mark = level === 'error' ? paint('red', '✗') : paint('yellow', '!');
  const about = job === null ? '' : `${paint('bold', job)}: `;
  return `${mark} ${about}${printable(message)}\n  ${paint('dim', `→ ${printable(advice)}`)}`;
}

const columns: Record<string, Align> = {
  dataset: 'left',
  rows: 'right',
  age: 'right',
  verdict: 'left',
  now: 'left',
  'last change': 'left',
  'next run': 'left',
  quarantine: 'right',
  drift: 'right',
};

function renderDatasets({ datasets, at }: Status, paint: Paint): string {
  const now = Date.parse(at);
  const heads = Object.keys(columns).map((head) => paint('dim', head));
  const rows = datasets.map((dataset) => [
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
  return inColumns([heads, ...rows], Object.values(columns));
}

function renderAge({ completeAsOf, ageSeconds, fresh }: DatasetStatus, paint: Paint): string {
  const unknown = completeAsOf === null ? 'never' : 'unknown';
  const age = ageSeconds === null ? unknown : duration(ageSeconds * 1_000);
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

function renderPace({ rate, concurrency }: Status): string[] {
  if (!rate || !concurrency) return [];
  const pace = rate.perSecond === null ? 'no limit was felt' : `${rate.perSecond.toFixed(1)} calls a second`;
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

function renderDaemon({ daemon, file }: Status, paint: Paint): string {
  return paint('dim', `${file}; ${daemon ? `daemon running (process ${daemon.pid})` : 'no daemon running'}`);
}
