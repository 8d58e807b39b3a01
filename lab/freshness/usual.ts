/** The usual world under each quota: walks alone, ours, and an oracle. */

import { DAY_MS, HOUR_MS } from '../../src/clock.ts';
import { markdownTable } from '../figures.ts';
import {
  callsBeyond,
  callsPerDay,
  count,
  delays,
  duration,
  proofAge,
  type Spread,
  shareUsed,
  spread,
  wrong,
} from './figures.ts';
import type { Kind } from './measures.ts';
import { REMOVAL, runOracle } from './oracle.ts';
import { rules } from './rules.ts';
import { type Outcome, run } from './run.ts';
import { none, type Section, type Target, times, within } from './targets.ts';
import { type Quota, quotas, usualWorld, type World } from './worlds.ts';

type Measured = { quota: Quota; 'walks alone': Outcome[]; ours: Outcome[]; oracle: Outcome[] };

const MINUTE_MS = 60_000;
const [news, memes, wallets, signals] = ['news', 'meme-signals', 'smart-wallets', 'ai-signals'] as const;
const datasets = [news, memes, wallets, signals];

export async function usualSection(seeds: number): Promise<Section> {
  const measured: Measured[] = [];
  for (const quota of [quotas.few, quotas.scarce]) measured.push(await measure(usualWorld, quota, seeds));
  for (const quota of [quotas.hardly, quotas.ample])
    measured.push(await measure(shorter(usualWorld), quota, 1));
  return { text: tables(measured).join('\n\n'), targets: measured.flatMap(targetsOf) };
}

/** With so many calls, a few days tell enough. */
const shorter = (world: World): World => ({
  ...world,
  from: world.begin + DAY_MS,
  to: world.begin + 3 * DAY_MS,
});

async function measure(world: World, quota: Quota, seeds: number): Promise<Measured> {
  const measured: Measured = { quota, 'walks alone': [], ours: [], oracle: [] };
  for (let seed = 1; seed <= seeds; seed += 1) {
    measured['walks alone'].push(await run(world, quota, rules['walks alone'], seed));
    measured.ours.push(await run(world, quota, rules.ours, seed));
    measured.oracle.push(runOracle(world, quota, seed, REMOVAL));
  }
  return measured;
}

function tables(measured: readonly Measured[]): string[] {
  const policies = ['walks alone', 'ours', 'oracle'] as const;
  const table = (heads: string[], cells: (outcomes: Outcome[], isOracle: boolean) => string[]) =>
    markdownTable(
      ['quota', 'policy', ...heads],
      measured.flatMap((of) =>
        policies.map((policy) => [of.quota.name, policy, ...cells(of[policy], policy === 'oracle')]),
      ),
    );
  const late = (outcomes: Outcome[], kind: Kind) =>
    datasets.map((name) => spread(delays(outcomes, name, kind)));
  const heads = (what: string) => datasets.map((name) => `${what} ${name}`);
  return [
    table([...heads('new'), ...heads('edited')], (of) => [...late(of, 'new'), ...late(of, 'edited')]),
    table([...heads('gone'), ...heads('age of proof:')], (of, isOracle) => [
      ...late(of, 'gone'),
      ...datasets.map((name) => (isOracle ? '–' : duration(proofAge(of, name)))),
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
