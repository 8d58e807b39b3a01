/** `market-mirror plan`: what the next 24 hours will cost, and what the account has for it; makes no call. */

import { Command } from 'commander';
import type { Output } from '../output/print.ts';
import { type Align, duration, inColumns, number, type Paint, paintFor } from '../output/text.ts';
import { type PlanJson, planJson } from '../plan/json.ts';
import { type DatasetPlan, readPlan } from '../plan.ts';
import { printable, printableJson } from '../printable.ts';
import { type Context, localMirror } from './context.ts';
import { withExamples } from './help.ts';
import { renderQuota, renderWaits } from './limits-text.ts';

type Options = { json?: true };

export function planCommand(context: Context): Command {
  const command = new Command('plan')
    .option('--json', 'print the plan as JSON')
    .action((options: Options) => plan(options, context));
  return withExamples(command, ['will the quota do for the schedules?', 'plan']);
}

async function plan({ json }: Options, context: Context): Promise<void> {
  const { clock, stdout } = context;
  const { dir, datasets, spending } = await localMirror(context);
  const made = planJson(readPlan(dir, datasets, spending, clock.now()));
  stdout.write(`${json ? printableJson(made) : renderPlan(made, stdout)}\n`);
}

/** Without a line break at its end; coloured where `output` is a terminal. */
function renderPlan(plan: PlanJson, output: Output): string {
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

const columns: Record<string, Align> = {
  dataset: 'left',
  rows: 'right',
  'calls a walk': 'left',
  changed: 'left',
  every: 'left',
  walks: 'right',
  calls: 'right',
  'held to': 'left',
};

function renderDatasets(plan: PlanJson, paint: Paint): string {
  const heads = Object.keys(columns).map((head) => paint('dim', head));
  const rows = plan.datasets.map((dataset) => [
    dataset.job,
    number(dataset.rows),
    renderCallsPerWalk(dataset),
    renderChanges(dataset),
    renderEvery(dataset, paint),
    count(dataset.walks),
    count(dataset.calls),
    dataset.heldToSeconds === null ? '–' : time(dataset.heldToSeconds),
  ]);
  const all = ['all', '', '', '', '', '', count(plan.calls), ''];
  return inColumns([heads, ...rows, all], Object.values(columns));
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

function renderBalance({ calls, available, left, stretch, ...plan }: PlanJson, paint: Paint): string[] {
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
function renderLast({ remaining, reserve }: PlanJson['quota'], calls: number): string[] {
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
