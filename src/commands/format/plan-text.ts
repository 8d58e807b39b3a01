/** The plan for people: a row a dataset, then what the account has for it, and what is not known. */

import Table from 'cli-table3';
import { printable } from '../../printable.ts';
import type { DatasetPlan, DayPlan } from '../../report/plan.ts';
import type { Output } from '../context.ts';
import { type Paint, paintFor } from './colours.ts';
import { renderQuota, renderWaits } from './status-text.ts';
import { borderless, trimLines } from './table.ts';
import { duration, number } from './words.ts';

/** Without a line break at its end; coloured where `output` is a terminal. */
export function renderPlan(plan: DayPlan, output: Output): string {
  const paint = paintFor(output);
  return [
    'The next 24 hours, as far as can be told without a call:',
    '',
    renderDatasets(plan, paint),
    '',
    renderQuota(plan),
    ...renderWaits(plan),
    ...renderBalance(plan, paint),
    ...plan.unknown.map(({ job, why }) => `${paint('yellow', '?')} ${job ?? 'quota'}: ${printable(why)}`),
  ].join('\n');
}

const heads = ['dataset', 'rows', 'calls a walk', 'changed', 'every', 'walks', 'calls', 'held to'];

function renderDatasets(plan: DayPlan, paint: Paint): string {
  const table = new Table({
    head: heads.map((head) => paint('dim', head)),
    style: { head: [], border: [], compact: true, 'padding-left': 0, 'padding-right': 2 },
    colAligns: heads.map((head) => (['rows', 'walks', 'calls'].includes(head) ? 'right' : 'left')),
    chars: borderless,
  });
  for (const dataset of plan.datasets)
    table.push([
      dataset.job,
      number(dataset.rows),
      renderCallsPerWalk(dataset),
      renderChanges(dataset),
      renderEvery(dataset, paint),
      count(dataset.walks),
      count(dataset.calls),
      dataset.heldToSeconds === null ? '–' : time(dataset.heldToSeconds),
    ]);
  table.push(['all', '', '', '', '', '', count(plan.calls), '']);
  return trimLines(table.toString());
}

function renderCallsPerWalk({ callsIfChanged, callsIfUnchanged }: DatasetPlan): string {
  if (callsIfChanged === null || callsIfUnchanged === null) return 'unknown';
  const alike = callsIfChanged === callsIfUnchanged;
  return alike ? number(callsIfChanged) : `${number(callsIfChanged)}, or ${number(callsIfUnchanged)}`;
}

function renderChanges({ observed }: DatasetPlan): string {
  return observed ? `in ${number(observed.changed)} of ${number(observed.walks)} walks` : 'unknown';
}

function renderEvery({ state, targetSeconds, everySeconds }: DatasetPlan, paint: Paint): string {
  if (state === 'off' || state === 'forbidden') return state;
  if (targetSeconds === null) return '–';
  const longer = everySeconds !== null && everySeconds > targetSeconds;
  return longer ? paint('yellow', `${time(everySeconds)}, not ${time(targetSeconds)}`) : time(targetSeconds);
}

function renderBalance({ calls, available, left, stretch, ...plan }: DayPlan, paint: Paint): string[] {
  const most = plan.unknown.some(({ job }) => job !== null) ? 'at most ' : '';
  if (available === null || left === null) return renderLast(plan.quota, calls);
  return [
    `For 24 hours: ${number(available)} calls; the plan takes ${number(calls)} and leaves ${most}${number(left)}`,
    ...(stretch > 1
      ? [
          paint(
            'yellow',
            `The schedules ask for more than that: the longer intervals above are what it is good for`,
          ),
        ]
      : []),
    `Chance that the schedules as they are run dry: ${percent(plan.chanceOfRunningDry ?? 0)}`,
  ];
}

/** Without a word of when more calls come, those that are there can still be counted. */
function renderLast({ remaining, reserve }: DayPlan['quota'], calls: number): string[] {
  if (remaining === null || calls === 0) return [];
  const lasts = (Math.max(0, remaining - reserve) / calls) * 24 * 3_600;
  return [`If no more came, what is left would last ${time(lasts)}`];
}

const count = (value: number | null) => (value === null ? 'unknown' : number(value));
const time = (seconds: number) => duration(seconds * 1_000);

function percent(chance: number): string {
  if (chance > 0 && chance < 0.01) return 'below 1 %';
  return chance < 1 && chance > 0.99 ? 'above 99 %' : `${Math.round(chance * 100)} %`;
}
