/** `npm run simulate -- freshness`: how late, how wrong and how dear the copy is, in virtual time: docs/dev/freshness-figures.md. */

import { DAY_MS, HOUR_MS } from '../src/clock.ts';
import { markdownTable } from './figures.ts';
import type { Kind } from './freshness/dataset.ts';
import {
  callsBeyond,
  callsPerDay,
  count,
  delays,
  duration,
  loss,
  none,
  proofAge,
  type Section,
  type Spread,
  shareUsed,
  spread,
  type Target,
  targetTable,
  times,
  within,
  wrong,
} from './freshness/figures.ts';
import { type Outcome, rules, run } from './freshness/run.ts';
import { failures, type Quota, quotas, randomWorld, usualWorld, type World } from './freshness/worlds.ts';

export type Part = keyof typeof parts;

const parts = {
  usual: { title: 'The usual world', section: usualSection },
  failures: { title: 'Where the head is worth nothing', section: failuresSection },
  random: { title: 'Random worlds', section: randomSection },
} satisfies Record<string, { title: string; section: (seeds: number) => Promise<Section> }>;

export const partNames = Object.keys(parts) as Part[];

/** Resolves to whether every target held. */
export async function printFreshness(
  wanted: readonly Part[],
  seeds: number,
  print: (text: string) => void,
): Promise<boolean> {
  const targets: Target[] = [];
  for (const part of wanted) {
    const { title, section } = parts[part];
    const { text, targets: ofPart } = await section(seeds);
    print(`\n## ${title}\n\n${text}\n`);
    targets.push(...ofPart);
  }
  if (targets.length > 0) print(`\n## Targets\n\n${targetTable(targets)}\n`);
  return targets.every(({ holds }) => holds);
}

const policies = ['walks alone', 'ours'] as const;

/** What came of a world under a quota, by policy, a seed after the other. */
type Measured = { quota: Quota } & Record<(typeof policies)[number], Outcome[]>;

const MINUTE_MS = 60_000;
const [news, memes, wallets, signals] = ['news', 'meme-signals', 'smart-wallets', 'ai-signals'] as const;
const datasets = [news, memes, wallets, signals];

async function measure(world: World, quota: Quota, seeds: readonly number[]): Promise<Measured> {
  const measured: Measured = { quota, 'walks alone': [], ours: [] };
  for (const seed of seeds)
    for (const policy of policies) measured[policy].push(await run(world, quota, rules[policy], seed));
  return measured;
}

const seedsUpTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

/** The usual world under each quota. */
async function usualSection(seeds: number): Promise<Section> {
  const measured: Measured[] = [];
  for (const quota of [quotas.few, quotas.scarce])
    measured.push(await measure(usualWorld, quota, seedsUpTo(seeds)));
  for (const quota of [quotas.hardly, quotas.ample])
    measured.push(await measure(shorter(usualWorld), quota, [1]));
  return { text: tables(measured).join('\n\n'), targets: measured.flatMap(targetsOf) };
}

/** With so many calls, a few days tell enough. */
const shorter = (world: World): World => ({
  ...world,
  from: world.begin + DAY_MS,
  to: world.begin + 3 * DAY_MS,
});

function tables(measured: readonly Measured[]): string[] {
  const table = (heads: string[], cells: (outcomes: Outcome[]) => string[]) =>
    markdownTable(
      ['quota', 'policy', ...heads],
      measured.flatMap((of) => policies.map((policy) => [of.quota.name, policy, ...cells(of[policy])])),
    );
  const late = (outcomes: Outcome[], kind: Kind) =>
    datasets.map((name) => spread(delays(outcomes, name, kind)));
  const heads = (what: string) => datasets.map((name) => `${what} ${name}`);
  return [
    table([...heads('new'), ...heads('edited')], (of) => [...late(of, 'new'), ...late(of, 'edited')]),
    table([...heads('gone'), ...heads('age of proof:')], (of) => [
      ...late(of, 'gone'),
      ...datasets.map((name) => duration(proofAge(of, name))),
    ]),
    table(
      [...heads('wrong %:'), 'calls a day', 'of them glances', 'used', 'falsely removed', 'missed in proofs'],
      (of) => [
        ...datasets.map((name) => wrong(of, name).toFixed(wrong(of, name) < 0.1 ? 2 : 1)),
        Math.round(callsPerDay(of).all).toLocaleString('en'),
        Math.round(callsPerDay(of).glance).toLocaleString('en'),
        `${(100 * shareUsed(of)).toFixed(1)} %`,
        String(count(of, 'falselyRemoved')),
        String(count(of, 'missedInProofs')),
      ],
    ),
  ];
}

function targetsOf(measured: Measured): Target[] {
  const { quota, ours } = measured;
  const of = (what: string) => `${quota.name}: ${what}`;
  const late = (name: string) => delays(ours, name, 'new');
  const both = (name: string, { median, p95 }: Spread) => [
    within(of(`new rows of ${name}, median`), late(name).median, median),
    within(of(`new rows of ${name}, 95th percentile`), late(name).p95, p95),
  ];
  const always = [
    none(of('rows falsely removed'), count(ours, 'falselyRemoved')),
    none(of('calls beyond the quota'), callsBeyond(ours)),
  ];
  if (quota === quotas.hardly) return always;
  if (quota === quotas.ample) return [worstFigure(measured), ...always];
  const soon = quota === quotas.few ? { median: 45, p95: 90 } : { median: 12, p95: 25 };
  const aim = { median: soon.median * MINUTE_MS, p95: soon.p95 * MINUTE_MS };
  const others = [
    within(of(`new rows of ${wallets}, median`), late(wallets).median, 4 * HOUR_MS),
    within(of(`new rows of ${signals}, median`), late(signals).median, 30 * MINUTE_MS),
  ];
  const used = shareUsed(ours);
  return [
    ...[news, memes].flatMap((name) => both(name, aim)),
    ...(quota === quotas.scarce ? others : []),
    worst(of('age of removals ÷ walks alone'), 1.4, (name) =>
      ratio(measured, (it) => delays(it, name, 'gone').median),
    ),
    worst(of('age of proofs ÷ walks alone'), 1.5, (name) => ratio(measured, (it) => proofAge(it, name))),
    {
      what: of('calls used'),
      aim: 'at least 97 %',
      came: `${(100 * used).toFixed(1)} %`,
      holds: used >= 0.97,
    },
    ...always,
  ];
}

const ratio = (measured: Measured, figure: (outcomes: Outcome[]) => number) =>
  figure(measured.ours) / figure(measured['walks alone']);

/** Of all datasets, the one that is worst off. */
function worst(what: string, most: number, value: (name: string) => number): Target {
  const [first] = datasets
    .map((name) => ({ name, value: value(name) }))
    .sort((one, other) => other.value - one.value);
  return times(`${what} (${first?.name})`, first?.value ?? Number.NaN, most);
}

/** Of all figures, the one that became worse by the most. */
function worstFigure(measured: Measured): Target {
  const kinds = ['new', 'edited', 'gone'] as const;
  const figures = datasets.flatMap((name) => [
    ...kinds.flatMap((kind) => [
      { what: `${kind} ${name}, median`, value: ratio(measured, (it) => delays(it, name, kind).median) },
      {
        what: `${kind} ${name}, 95th percentile`,
        value: ratio(measured, (it) => delays(it, name, kind).p95),
      },
    ]),
    { what: `age of proof of ${name}`, value: ratio(measured, (it) => proofAge(it, name)) },
    { what: `wrong rows of ${name}`, value: ratio(measured, (it) => wrong(it, name)) },
  ]);
  const [first] = figures.filter(({ value }) => value > 0).sort((one, other) => other.value - one.value);
  const what = `${measured.quota.name}: the worst figure ÷ walks alone (${first?.what})`;
  return times(what, first?.value ?? Number.NaN, 1.15);
}

const headsOfFailures = [
  'news',
  'policy',
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

/** What makes the head of a dataset worthless: glances do no harm, or are switched off by the walks. */
async function failuresSection(seeds: number): Promise<Section> {
  const lines: (string | number)[][] = [];
  const targets: Target[] = [];
  for (const world of failures) {
    const measured = await measure(world, quotas.scarce, seedsUpTo(seeds));
    lines.push(...policies.map((policy) => line(world, policy, measured[policy])));
    targets.push(...targetsOfFailures(world, measured.ours));
  }
  return { text: markdownTable(headsOfFailures, lines), targets };
}

function line(world: World, policy: string, outcomes: Outcome[]): (string | number)[] {
  const { walk, glance } = callsPerDay(outcomes, 'news');
  return [
    world.name,
    policy,
    spread(delays(outcomes, 'news', 'new')),
    spread(delays(outcomes, 'news', 'gone')),
    wrong(outcomes, 'news').toFixed(2),
    duration(proofAge(outcomes, 'news')),
    Math.round(walk),
    Math.round(glance),
    count(outcomes, 'falselyRemoved'),
    count(outcomes, 'missedInProofs'),
    glance > 0 ? lastGlance(world, outcomes) : '–',
  ];
}

/** How long after the beginning of what is measured the last glance was made. */
function lastGlanceMs(world: World, outcomes: readonly Outcome[]): number {
  const ends = outcomes.flatMap(({ sets }) =>
    sets.filter(({ spec }) => spec.name === 'news').map(({ measures }) => measures.lastGlanceAt),
  );
  return Math.max(...ends) - world.from;
}

function lastGlance(world: World, outcomes: readonly Outcome[]): string {
  const ms = lastGlanceMs(world, outcomes);
  return ms > world.to - world.from - 12 * HOUR_MS ? 'to the end' : `after ${duration(ms)}`;
}

function targetsOfFailures(world: World, ours: Outcome[]): Target[] {
  const turns = world.specs.some(({ turnsAt }) => Number.isFinite(turnsAt));
  return [
    none(`${world.name}: rows falsely removed`, count(ours, 'falselyRemoved')),
    ...(turns
      ? [within(`${world.name}: glances switched off`, lastGlanceMs(world, ours), 12 * HOUR_MS)]
      : []),
  ];
}

const DRAWN = 12;

/** Worlds drawn at random. */
async function randomSection(): Promise<Section> {
  const lines: (string | number)[][] = [];
  let falselyRemoved = 0;
  for (const quota of [quotas.few, quotas.scarce])
    for (const seed of seedsUpTo(DRAWN)) {
      const world = randomWorld(seed);
      const measured = await measure(world, quota, [seed]);
      const { ours } = measured;
      const late = policies.flatMap((policy) => measured[policy].map((outcome) => loss(outcome).toFixed(1)));
      const used = `${(100 * shareUsed(ours)).toFixed(1)} %`;
      const removed = count(ours, 'falselyRemoved');
      lines.push([
        `${world.name}, ${quota.name}`,
        rowsOf(world),
        ...late,
        used,
        removed,
        count(ours, 'missedInProofs'),
      ]);
      falselyRemoved += removed;
    }
  const heads = [
    'world',
    'rows',
    'loss: walks alone',
    'ours',
    'calls used',
    'falsely removed',
    'missed in proofs',
  ];
  return {
    text: markdownTable(heads, lines),
    targets: [none('random worlds: rows falsely removed', falselyRemoved)],
  };
}

const rowsOf = ({ specs }: World) => specs.reduce((rows, spec) => rows + spec.rows, 0).toLocaleString('en');
