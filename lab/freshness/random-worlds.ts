/** Worlds drawn at random: walks alone, ours and an oracle in some; and in others, unseen before, every rule that was tried. */

import { markdownTable, median } from '../figures.ts';
import { count, loss, shareUsed } from './figures.ts';
import { REMOVAL, runOracle } from './oracle.ts';
import { type RuleName, rules } from './rules.ts';
import { type Outcome, run } from './run.ts';
import { none, type Section, type Target, times } from './targets.ts';
import { quotas, randomWorld } from './worlds.ts';

const DRAWN = { seen: 12, unseen: 20 };
const scarce = [quotas.few, quotas.scarce];
/** What a removal counts, where a new or changed row counts 1. */
const removals = [1, 0.2];
const MOST_LOSS = 1.3;
const names = Object.keys(rules) as RuleName[];

export async function randomSection(): Promise<Section> {
  const lines: (string | number)[][] = [];
  let falselyRemoved = 0;
  for (const quota of scarce)
    for (let seed = 1; seed <= DRAWN.seen; seed += 1) {
      const world = randomWorld(seed);
      const alone = await run(world, quota, rules['walks alone'], seed);
      const ours = await run(world, quota, rules.ours, seed);
      const oracle = runOracle(world, quota, seed, REMOVAL);
      const late = [alone, ours, oracle].map((outcome) => loss(outcome, 1).toFixed(1));
      const used = `${(100 * shareUsed([ours])).toFixed(1)} %`;
      const counts = [count([ours], 'falselyRemoved'), count([ours], 'missedInProofs')];
      lines.push([`${world.name}, ${quota.name}`, rowsOf(ours), ...late, used, ...counts]);
      falselyRemoved += count([ours], 'falselyRemoved');
    }
  const heads = [
    'world',
    'rows',
    'loss: walks alone',
    'ours',
    'oracle',
    'calls used',
    'falsely removed',
    'missed in proofs',
  ];
  return {
    text: markdownTable(heads, lines),
    targets: [none('random worlds: rows falsely removed', falselyRemoved)],
  };
}

const rowsOf = ({ world }: Outcome) =>
  world.specs.reduce((rows, spec) => rows + spec.rows, 0).toLocaleString('en');

/** Loss of each rule ÷ that of the best one in the same world. */
export async function unseenSection(): Promise<Section> {
  const lines: (string | number)[][] = [];
  const targets: Target[] = [];
  for (const quota of scarce) {
    const losses = new Map(names.map((name) => [name, removals.map((): number[] => [])]));
    for (let seed = DRAWN.seen + 1; seed <= DRAWN.seen + DRAWN.unseen; seed += 1) {
      const outcomes = new Map<RuleName, Outcome>();
      for (const name of names) outcomes.set(name, await run(randomWorld(seed), quota, rules[name], seed));
      removals.forEach((removal, at) => {
        const best = Math.min(...[...outcomes.values()].map((outcome) => loss(outcome, removal)));
        for (const [name, outcome] of outcomes) losses.get(name)?.[at]?.push(loss(outcome, removal) / best);
      });
    }
    for (const [name, [fully = [], fifth = []]] of losses)
      lines.push([name, quota.name, ...cells(fully), ...cells(fifth)]);
    const ours = losses.get('ours') ?? [];
    removals.forEach((removal, at) => {
      const what = `${quota.name}, ${DRAWN.unseen} random worlds: loss ÷ the best, worst, a removal counting ${removal}`;
      targets.push(times(what, Math.max(...(ours[at] ?? [])), MOST_LOSS));
    });
  }
  return { text: markdownTable(headsOfUnseen, lines), targets };
}

const headsOfUnseen = [
  'rule',
  'quota',
  'loss ÷ the best: median',
  'ninth of ten',
  'worst',
  'removals a fifth: median',
  'ninth of ten',
  'worst',
];

function cells(values: readonly number[]): string[] {
  const sorted = values.toSorted((one, other) => one - other);
  const ninth = sorted[Math.floor(0.9 * sorted.length)] ?? Number.NaN;
  return [median(sorted), ninth, sorted.at(-1) ?? Number.NaN].map((value) => value.toFixed(2));
}
