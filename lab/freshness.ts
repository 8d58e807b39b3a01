/** `npm run simulate -- freshness`: how late and how wrong the copy is where calls are scarce, in virtual time: docs/dev/freshness-figures.md. */

import { DAY_MS, HOUR_MS } from '../src/clock.ts';
import { markdownTable, mean, sum } from './figures.ts';
import { type Outcome, run } from './freshness/run.ts';
import type { Kind } from './freshness/worlds.ts';
import { failures, type Quota, quotas, usualWorld, type World } from './freshness/worlds.ts';

export type Part = 'usual' | 'failures';
export const partNames: readonly Part[] = ['usual', 'failures'];

type Target = { what: string; aim: string; came: string; holds: boolean };

/** Resolves to whether every target held. */
export async function printFreshness(
  parts: readonly Part[],
  seeds: number,
  print: (text: string) => void,
): Promise<boolean> {
  const targets: Target[] = [];
  if (parts.includes('usual')) {
    print('\n## The usual world\n');
    for (const quota of Object.values(quotas)) {
      // With so many calls two days tell enough.
      const isAmple = quota.periodMs < DAY_MS;
      const from = usualWorld.begin + DAY_MS;
      const world = isAmple ? { ...usualWorld, from, to: from + 2 * DAY_MS } : usualWorld;
      const outcomes = await runSeeds(world, quota, isAmple ? 1 : seeds);
      print(`\n${quota.name}:\n\n${usualTable(outcomes)}\n`);
      targets.push(...usualTargets(quota, outcomes));
    }
  }
  if (parts.includes('failures')) {
    const lines: string[][] = [];
    for (const world of failures) {
      const outcomes = await runSeeds(world, quotas.scarce, seeds);
      lines.push(failureLine(world, outcomes));
      targets.push(...failureTargets(world, outcomes));
    }
    print(`\n## Where the head is worth nothing\n\n${markdownTable(failureHeads, lines)}\n`);
  }
  const lines = targets.map(({ what, aim, came, holds }) => [what, aim, came, holds ? 'yes' : '**no**']);
  print(`\n## Targets\n\n${markdownTable(['what', 'aim', 'came out', 'holds'], lines)}\n`);
  return targets.every(({ holds }) => holds);
}

async function runSeeds(world: World, quota: Quota, seeds: number): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let seed = 1; seed <= seeds; seed += 1) outcomes.push(await run(world, quota, seed));
  return outcomes;
}

const datasets = ['news', 'meme-signals', 'smart-wallets', 'ai-signals'] as const;

function usualTable(outcomes: readonly Outcome[]): string {
  const { walk, glance } = callsPerDay(outcomes);
  const used = `${Math.round(walk + glance)} calls a day (${percent(shareUsed(outcomes))}), ${Math.round(glance)} of them glances`;
  const lines = datasets.map((name) => [
    name,
    ...(['new', 'edited', 'gone'] as const).map((kind) => spread(delays(outcomes, name, kind))),
    duration(proofAge(outcomes, name)),
    wrong(outcomes, name).toFixed(2),
  ]);
  const heads = ['dataset', 'new', 'edited', 'gone', 'age of proof', 'wrong %'];
  return `${markdownTable(heads, lines)}\n\n${used}.`;
}

const MINUTE_MS = 60_000;

/** What may come of a quota, in the median: new rows of each dataset, the oldest removal and the oldest proof. */
const aims: Partial<
  Record<string, { new: Record<(typeof datasets)[number], number>; gone: number; proof: number }>
> = {
  [quotas.few.name]: {
    new: {
      news: 45 * MINUTE_MS,
      'meme-signals': 45 * MINUTE_MS,
      'smart-wallets': 14 * HOUR_MS,
      'ai-signals': 100 * MINUTE_MS,
    },
    gone: 40 * HOUR_MS,
    proof: 15 * HOUR_MS,
  },
  [quotas.scarce.name]: {
    new: {
      news: 12 * MINUTE_MS,
      'meme-signals': 12 * MINUTE_MS,
      'smart-wallets': 4 * HOUR_MS,
      'ai-signals': 30 * MINUTE_MS,
    },
    gone: 14 * HOUR_MS,
    proof: 5 * HOUR_MS,
  },
  // Every schedule is kept.
  [quotas.ample.name]: {
    new: {
      news: 5 * MINUTE_MS,
      'meme-signals': 2 * MINUTE_MS,
      'smart-wallets': 15 * MINUTE_MS,
      'ai-signals': 2 * MINUTE_MS,
    },
    gone: 30 * MINUTE_MS,
    proof: 15 * MINUTE_MS,
  },
};

function usualTargets(quota: Quota, outcomes: readonly Outcome[]): Target[] {
  const of = (what: string) => `${quota.name}: ${what}`;
  const used = shareUsed(outcomes);
  const always = [
    none(of('rows falsely removed'), count(outcomes, 'falselyRemoved')),
    none(of('calls beyond the quota'), callsBeyond(outcomes)),
  ];
  const aim = aims[quota.name];
  if (!aim) return always;
  const oldest = (value: (name: string) => number) => Math.max(...datasets.map(value));
  return [
    ...datasets.map((name) =>
      within(of(`new rows of ${name}`), delays(outcomes, name, 'new').median, aim.new[name]),
    ),
    within(
      of('removals of any dataset'),
      oldest((name) => delays(outcomes, name, 'gone').median),
      aim.gone,
    ),
    within(
      of('age of the proofs of any dataset'),
      oldest((name) => proofAge(outcomes, name)),
      aim.proof,
    ),
    ...(quota === quotas.ample
      ? []
      : [{ what: of('calls used'), aim: 'at least 97 %', came: percent(used), holds: used >= 0.97 }]),
    ...always,
  ];
}

const failureHeads = [
  'news',
  'new',
  'gone',
  'wrong %',
  'age of proof',
  'calls a day: walks',
  'glances',
  'falsely removed',
  'missed in proofs',
  'last glance',
];

function failureLine(world: World, outcomes: readonly Outcome[]): string[] {
  const { walk, glance } = callsPerDay(outcomes, 'news');
  const last = lastGlanceMs(world, outcomes);
  const goesOn = last > world.to - world.from - 12 * HOUR_MS;
  return [
    world.name,
    spread(delays(outcomes, 'news', 'new')),
    spread(delays(outcomes, 'news', 'gone')),
    wrong(outcomes, 'news').toFixed(2),
    duration(proofAge(outcomes, 'news')),
    String(Math.round(walk)),
    String(Math.round(glance)),
    String(count(outcomes, 'falselyRemoved')),
    String(count(outcomes, 'missedInProofs')),
    glance === 0 ? '–' : goesOn ? 'to the end' : `after ${duration(last)}`,
  ];
}

function failureTargets(world: World, outcomes: readonly Outcome[]): Target[] {
  const removed = none(`${world.name}: rows falsely removed`, count(outcomes, 'falselyRemoved'));
  const turns = world.specs.some(({ turnsAt }) => Number.isFinite(turnsAt));
  if (!turns) return [removed];
  return [
    removed,
    within(`${world.name}: glances switched off`, lastGlanceMs(world, outcomes), 12 * HOUR_MS),
  ];
}

/** How long after the beginning of what is measured the last glance at news was made. */
function lastGlanceMs({ from }: World, outcomes: readonly Outcome[]): number {
  return Math.max(...ofDataset(outcomes, 'news').map(({ measures }) => measures.lastGlanceAt)) - from;
}

type Spread = { median: number; p95: number };

/** Delays of a dataset, of all outcomes together; NaN where nothing happened. */
export function delays(outcomes: readonly Outcome[], name: string, kind: Kind): Spread {
  const all = ofDataset(outcomes, name).flatMap(({ measures }) => measures.delays[kind]);
  const sorted = all.sort((one, other) => one - other);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
  return { median: at(0.5) ?? Number.NaN, p95: at(0.95) ?? Number.NaN };
}

/** Row-hours that are stale, missing or too many, of all, in per cent. */
function wrong(outcomes: readonly Outcome[], name: string): number {
  return mean(
    ofDataset(outcomes, name).map(({ measures: { wrong } }) => {
      return (100 * (wrong.missing + wrong.stale + wrong.extra)) / wrong.rows;
    }),
  );
}

function proofAge(outcomes: readonly Outcome[], name: string): number {
  return mean(ofDataset(outcomes, name).map(({ measures }) => measures.proofAge()));
}

/** Calls a day, of one dataset or of all. */
export function callsPerDay(outcomes: readonly Outcome[], name?: string): { walk: number; glance: number } {
  const perDay = (kind: 'walk' | 'glance') =>
    mean(
      outcomes.map(({ world: { from, to }, sets }) => {
        const calls = sets.filter(({ spec }) => (name ?? spec.name) === spec.name);
        return (sum(calls.map(({ measures }) => measures.calls[kind])) * DAY_MS) / (to - from);
      }),
    );
  return { walk: perDay('walk'), glance: perDay('glance') };
}

/** Calls made, of those that there are, in [0, 1]. */
export function shareUsed(outcomes: readonly Outcome[]): number {
  return mean(
    outcomes.map((outcome) => {
      const { limit, reserve, periodMs } = outcome.quota;
      const { walk, glance } = callsPerDay([outcome]);
      return (walk + glance) / ((limit - reserve) * (DAY_MS / periodMs));
    }),
  );
}

/** Calls of any period of the quota beyond those that it allows. */
export function callsBeyond(outcomes: readonly Outcome[]): number {
  return sum(outcomes.map(({ quota, mostCalls }) => Math.max(0, mostCalls - (quota.limit - quota.reserve))));
}

export function count(outcomes: readonly Outcome[], what: 'falselyRemoved' | 'missedInProofs'): number {
  return sum(outcomes.flatMap(({ sets }) => sets.map(({ measures }) => measures[what])));
}

function ofDataset(outcomes: readonly Outcome[], name: string) {
  return outcomes.flatMap(({ sets }) => sets.filter(({ spec }) => spec.name === name));
}

const percent = (part: number) => `${(100 * part).toFixed(1)} %`;

/** `4.7 min`, `3.1 h`: two digits, as far as they say something. */
function duration(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  const [value, unit] =
    ms < 90_000 ? [ms / 1_000, 's'] : ms < 1.5 * HOUR_MS ? [ms / MINUTE_MS, 'min'] : [ms / HOUR_MS, 'h'];
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

function spread({ median, p95 }: Spread): string {
  return Number.isNaN(median) ? '–' : `${duration(median)} / ${duration(p95)}`;
}

function within(what: string, ms: number, mostMs: number): Target {
  return { what, aim: `at most ${duration(mostMs)}`, came: duration(ms), holds: ms <= mostMs };
}

function none(what: string, count: number): Target {
  return { what, aim: 'none', came: String(count), holds: count === 0 };
}
