/** What makes the head of a dataset worthless: glances do no harm, or are switched off by the walks. */

import { HOUR_MS } from '../../src/clock.ts';
import { markdownTable } from '../figures.ts';
import { callsPerDay, count, delays, duration, proofAge, spread, wrong } from './figures.ts';
import { rules } from './rules.ts';
import { type Outcome, run } from './run.ts';
import { none, type Section, type Target, within } from './targets.ts';
import { failures, quotas, type World } from './worlds.ts';

const policies = ['walks alone', 'ours'] as const;
const heads = [
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
export async function failuresSection(seeds: number): Promise<Section> {
  const lines: (string | number)[][] = [];
  const targets: Target[] = [];
  for (const world of failures) {
    const outcomes = { 'walks alone': [] as Outcome[], ours: [] as Outcome[] };
    for (let seed = 1; seed <= seeds; seed += 1)
      for (const policy of policies)
        outcomes[policy].push(await run(world, quotas.scarce, rules[policy], seed));
    lines.push(...policies.map((policy) => line(world, policy, outcomes[policy])));
    targets.push(...targetsOf(world, outcomes.ours));
  }
  return { text: markdownTable(heads, lines), targets };
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

function targetsOf(world: World, ours: Outcome[]): Target[] {
  const turns = world.specs.some(({ turnsAt }) => Number.isFinite(turnsAt));
  return [
    none(`${world.name}: rows falsely removed`, count(ours, 'falselyRemoved')),
    ...(turns
      ? [within(`${world.name}: glances switched off`, lastGlanceMs(world, ours), 12 * HOUR_MS)]
      : []),
  ];
}
