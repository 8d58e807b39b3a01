/** `market-mirror plan`: what the next 24 hours will cost, and what the account has for it; makes no call. */

import { Command } from 'commander';
import { printable, printableJson } from '../base/printable.ts';
import { duration, number } from '../output/numbers.ts';
import type { Output } from '../output/print.ts';
import { type Paint, paintFor, renderTable, type TableColumn } from '../output/text.ts';
import { type DatasetPlan, type PlanJson, planJson, readPlan } from '../plan.ts';
import { type Context, localMirror } from './context.ts';
import { withExamples } from './help.ts';
import { renderHead, renderQuota, renderWaits } from './status-and-plan.ts';

type Options = { json?: true };

export function planCommand(context: Context): Command {
  const command = new Command('plan')
    .option('--json', 'print the plan as JSON')
    .action((options: Options) => plan(options, context));
  return withExamples(command, ['is the quota enough for the schedules?', 'plan']);
}

async function plan({ json }: Options, context: Context): Promise<void> {
  const { clock, stdout } = context;
  const { dir, datasets } = await localMirror(context);
  const made = planJson(readPlan(dir, datasets, clock.now()));
  stdout.write(`${json ? printableJson(made) : renderPlan(made, stdout)}\n`);
}

/** Without a line break at its end; coloured where `output` is a terminal. */
function renderPlan(plan: PlanJson, output: Output): string {
  const paint = paintFor(output);
  return [
    'The next 24 hours, estimated without a call:',
    '',
    renderDatasets(plan, paint),
    '',
    renderQuota(plan),
    ...renderWaits(plan),
    ...renderBalance(plan, paint),
    ...plan.datasets.filter(isGlanced).map((dataset) => `Head of ${dataset.job}: ${renderHead(dataset)}`),
    ...renderUnknown(plan, paint),
  ].join('\n');
}

/** What is not known of datasets; of the quota it stands in its own line. */
function renderUnknown({ unknown }: PlanJson, paint: Paint): string[] {
  const reasons = [...new Set(unknown.filter(({ job }) => job !== null).map(({ why }) => why))];
  return reasons.map((reason) => {
    const jobs = unknown.filter(({ why }) => why === reason).map(({ job }) => job);
    return `${paint('yellow', '?')} ${jobs.join(', ')}: ${printable(reason)}`;
  });
}

function isGlanced({ glanceEverySeconds }: DatasetPlan): boolean {
  return glanceEverySeconds !== null;
}

function renderDatasets(plan: PlanJson, paint: Paint): string {
  const glances: TableColumn<DatasetPlan>[] = [
    { name: 'glances', align: 'right', cell: (dataset) => count(dataset.glances) },
    { name: 'every', cell: (dataset) => span(dataset.glanceEverySeconds) },
  ];
  const columns: TableColumn<DatasetPlan>[] = [
    { name: 'dataset', cell: ({ job }) => job, total: 'all' },
    { name: 'rows', align: 'right', cell: ({ rows }) => number(rows) },
    { name: 'calls a walk', cell: renderCallsPerWalk },
    { name: 'changed', cell: renderChanges },
    { name: 'every', cell: (dataset) => renderEvery(dataset, paint) },
    { name: 'walks', align: 'right', cell: (dataset) => count(dataset.walks) },
    ...(plan.datasets.some(({ glanceEverySeconds }) => glanceEverySeconds !== null) ? glances : []),
    { name: 'calls', align: 'right', cell: (dataset) => count(dataset.calls), total: count(plan.calls) },
    { name: 'max age', cell: (dataset) => span(dataset.heldToSeconds) },
  ];
  return renderTable(columns, plan.datasets, paint);
}

function renderCallsPerWalk({ callsIfChanged, callsIfUnchanged }: DatasetPlan): string {
  if (callsIfChanged === null || callsIfUnchanged === null) return 'unknown';
  const alike = callsIfChanged === callsIfUnchanged;
  return alike ? number(callsIfChanged) : `${number(callsIfChanged)}, or ${number(callsIfUnchanged)}`;
}

function renderChanges({ observed }: DatasetPlan): string {
  return observed ? `in ${number(observed.changed)} of ${number(observed.walks)} walks` : 'unknown';
}

function renderEvery(dataset: DatasetPlan, paint: Paint): string {
  const { state, targetSeconds, everySeconds } = dataset;
  if (state === 'off' || state === 'forbidden') return state;
  if (targetSeconds === null) return '–';
  if (everySeconds === null || everySeconds <= targetSeconds) return time(targetSeconds);
  const [planned, wanted] = [everySeconds, targetSeconds].map(time);
  // An interval that is longer by a few seconds is no news.
  return planned === wanted ? `${planned}` : paint('yellow', `${planned}, not ${wanted}`);
}

function renderBalance({ calls, available, left, schedules, ...plan }: PlanJson, paint: Paint): string[] {
  const most = plan.unknown.some(({ job }) => job !== null) ? 'at most ' : '';
  const balance =
    available === null || left === null
      ? renderLast(plan.quota, calls)
      : [
          `The quota has ${number(available, 0)} calls for these 24 hours; the plan takes ${number(calls, 0)} and leaves ${most}${number(left, 0)}`,
        ];
  const starved = plan.datasets.filter(({ walks, runs }) => walks !== null && walks < Math.min(0.99, runs));
  const scarce = 'The schedules need more than that: the longer intervals above are what the quota allows';
  return [
    ...balance,
    ...(schedules === 'scarce' ? [paint('yellow', scarce)] : []),
    ...(schedules === 'starved'
      ? [paint('yellow', `${scarce}; not even one walk a day: ${starved.map(({ job }) => job).join(', ')}`)]
      : []),
  ];
}

/** Without a word of when more calls come, those that are there can still be counted. */
function renderLast({ remaining, reserve }: PlanJson['quota'], calls: number): string[] {
  if (remaining === null || calls === 0) return [];
  const lasts = (Math.max(0, remaining - reserve) / calls) * 24 * 3_600;
  return [`Without a reset, the calls left last ${time(lasts)}`];
}

const count = (value: number | null) => (value === null ? 'unknown' : number(value, 0));
const time = (seconds: number) => duration(seconds * 1_000);
const span = (seconds: number | null) => (seconds === null ? '–' : time(seconds));
