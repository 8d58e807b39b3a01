/** What a campaign tells: each round as it ends, then a table, and what else happened. */

import { copyFileSync, existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { markdownTable, sum } from '../figures.ts';
import type { Finding } from './checks.ts';
import type { Consumer, Watch } from './consumer.ts';
import type { Round, Stage } from './rounds.ts';
import type { World } from './world.ts';

const MOST_SHOWN = 20;

export const print = (line = '') => process.stdout.write(`${line}\n`);

/** One round as soon as it has ended, and how to replay it if something broke. */
export function printRound(round: Round, kills: number, seed: number): void {
  const { attack, strikes, seconds, findings, lies } = round;
  const found = [
    ...findings.map(({ kind, what }) => `${kind}: ${what}`),
    ...lies.map((lie) => `green but old: ${lie}`),
  ];
  const times = strikes === 1 ? 'once' : `${strikes} times`;
  print(
    `${attack} ${times}, ${round.kills} kills (${kills} in all), ${Math.round(seconds)} s: ${found.length === 0 ? 'all held' : `${found.length} broken`}`,
  );
  for (const line of found.slice(0, MOST_SHOWN)) print(`  ${line}`);
  if (found.length > 0) print(`  replay: npm run campaign -- --seed ${seed} --attacks ${attack}`);
}

/** All of them, at the end. */
export function report(
  rounds: readonly Round[],
  atTheEnd: readonly Finding[],
  { world, consumer, watch }: Stage,
): void {
  for (const { kind, what } of atTheEnd.slice(0, MOST_SHOWN)) print(`at the end: ${kind}: ${what}`);
  print(`\n${tableOf(rounds, atTheEnd)}\n`);
  print(figures(world, consumer, watch));
}

const heads = [
  'attack',
  'times',
  'kills',
  'lost',
  'false',
  'orphans',
  'green but old',
  'seconds',
  'until proven',
];

/** One line an attack, in the order in which they were met first, and their sum. */
function tableOf(rounds: readonly Round[], atTheEnd: readonly Finding[]): string {
  const names = [...new Set(rounds.map(({ attack }) => attack))];
  const lines = names.map((name) =>
    lineOf(
      name,
      rounds.filter(({ attack }) => attack === name),
    ),
  );
  return markdownTable(heads, [...lines, lineOf('all', rounds, atTheEnd)]);
}

function lineOf(name: string, rounds: readonly Round[], more: readonly Finding[] = []): string[] {
  const findings = [...rounds.flatMap((round) => round.findings), ...more];
  const of = (kind: Finding['kind']) => findings.filter((found) => found.kind === kind).length;
  const all = (value: (round: Round) => number) => sum(rounds.map(value));
  const figures = [
    ...[all(({ strikes }) => strikes), all(({ kills }) => kills), of('lost'), of('false'), of('orphan')],
    ...[all(({ lies }) => lies.length), Math.round(all(({ seconds }) => seconds))],
    Math.max(0, ...rounds.map(({ secondsToProof }) => secondsToProof)),
  ];
  return [name, ...figures.map((figure) => figure.toLocaleString('en', { maximumFractionDigits: 1 }))];
}

function figures(world: World, consumer: Consumer, watch: Watch): string {
  const versions = world.upstream.lists.map(
    ({ name }) => `SELECT _key FROM "${name.replaceAll('-', '_')}_history"`,
  );
  const [{ count = 0 } = {}] = world.sql<{ count: number }>(
    `SELECT count(*) AS count FROM (${versions.join(' UNION ALL ')})`,
  );
  const [{ walks = 0, glances = 0, proofs = 0 } = {}] = world.sql<
    Record<'walks' | 'glances' | 'proofs', number>
  >(
    `SELECT sum(kind = 'walk') AS walks, sum(kind = 'glance') AS glances,
       sum(verdict IN ('snapshot', 'verified')) AS proofs FROM walks`,
  );
  const list = (tally: ReadonlyMap<string, number>) =>
    [...tally].map(([name, times]) => `${times} × ${name}`).join(', ') || 'none';
  return [
    `${world.upstream.edits()} edits upstream, ${walks} walks, ${proofs} of them proofs, ${glances} glances, ${count} earlier versions kept`,
    `daemon: ${world.daemon.starts()} starts; ended by itself: ${list(world.daemon.ends)}`,
    `serve: ${world.serve.starts()} starts; ended by itself: ${list(world.serve.ends)}`,
    `client of the change feed: ${consumer.counts.polls} polls, ${consumer.counts.changes} changes, begun anew ${consumer.counts.anew} times; not answered: ${list(consumer.failed)}`,
    `status: asked ${watch.counts.asked} times, green ${watch.counts.green} times; else: ${list(watch.others)}`,
  ].join('\n');
}

/** So that it can be looked into: the disk goes with the campaign. */
export function keep({ database, log }: World): void {
  const folder = mkdtempSync(join(tmpdir(), 'campaign-broken-'));
  for (const file of [database, log])
    if (existsSync(file)) copyFileSync(file, join(folder, file.split('/').at(-1) ?? ''));
  print(`the database and the log are kept in ${folder}`);
}
