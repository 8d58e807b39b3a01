/** What a campaign tells: each round as it ends, then the table of `docs/reliability.md`, and what else happened. */

import { copyFileSync, existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { markdownTable } from '../figures.ts';
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
    `${attack} ${times}, ${round.kills} kills (${kills} in all), ${Math.round(seconds)} s, ${round.lines} lines of log: ${found.length === 0 ? 'all held' : `${found.length} broken`}`,
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
  print(`\n${markdownOf(linesOf(rounds, atTheEnd))}\n`);
  print(figures(world, consumer, watch));
}

export type Line = {
  attack: string;
  times: number;
  kills: number;
  lost: number;
  false: number;
  orphans: number;
  'green but old': number;
  seconds: number;
  'until proven': number;
};

/** One line an attack, in the order in which they were met first, and their sum. */
export function linesOf(rounds: readonly Round[], atTheEnd: readonly Finding[] = []): Line[] {
  const names = [...new Set(rounds.map(({ attack }) => attack))];
  const lines = names.map((name) =>
    lineOf(
      name,
      rounds.filter(({ attack }) => attack === name),
    ),
  );
  return [...lines, lineOf('all', rounds, atTheEnd)];
}

function lineOf(attack: string, rounds: readonly Round[], more: readonly Finding[] = []): Line {
  const findings = [...rounds.flatMap((round) => round.findings), ...more];
  const sum = (value: (round: Round) => number) => rounds.reduce((total, round) => total + value(round), 0);
  const of = (kind: Finding['kind']) => findings.filter((found) => found.kind === kind).length;
  return {
    attack,
    times: sum(({ strikes }) => strikes),
    kills: sum(({ kills }) => kills),
    lost: of('lost'),
    false: of('false'),
    orphans: of('orphan'),
    'green but old': sum(({ lies }) => lies.length),
    seconds: Math.round(sum(({ seconds }) => seconds)),
    'until proven': Math.round(Math.max(0, ...rounds.map(({ secondsToProof }) => secondsToProof)) * 10) / 10,
  };
}

/** In Markdown, as in `docs/reliability.md`. */
function markdownOf(lines: readonly Line[]): string {
  const names = Object.keys(lines[0] ?? {}) as (keyof Line)[];
  return markdownTable(
    names,
    lines.map((line) => names.map((name) => line[name].toLocaleString('en'))),
  );
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
    `daemon: ${world.daemon.counts.starts} starts; ended by itself: ${list(world.daemon.ends)}`,
    `consumer: ${consumer.counts.polls} polls, ${consumer.counts.rows} rows; not answered: ${list(consumer.failed)}`,
    ...shippers(world),
    ...lakes(world),
    `status: asked ${watch.counts.asked} times, green ${watch.counts.green} times; else: ${list(watch.others)}`,
  ].join('\n');
}

function shippers({ shippedTo }: World): string[] {
  if (!shippedTo) return [];
  const { started, killed, cut, atCommit } = shippedTo.counts;
  return [
    `shippers: ${started} started, ${killed} killed, ${cut} connections cut; ${atCommit} of these at COMMIT`,
  ];
}

function lakes({ lake }: World): string[] {
  const { started, killed } = lake.counts;
  if (started === 0) return [];
  return [
    `lakes: ${started} started, ${killed} killed, ${filesOnTheirWay(lake)} of the last while a file was made`,
  ];
}

/** Files that a lake was making as it was killed stay until the next one. */
const filesOnTheirWay = ({ folder }: World['lake']) =>
  existsSync(join(folder, '_partial')) ? readdirSync(join(folder, '_partial')).length : 0;

/** So that it can be looked into: the disk goes with the campaign. */
export function keep({ database, log }: World): void {
  const folder = mkdtempSync(join(tmpdir(), 'campaign-broken-'));
  for (const file of [database, log])
    if (existsSync(file)) copyFileSync(file, join(folder, file.split('/').at(-1) ?? ''));
  print(`the database and the log are kept in ${folder}`);
}
