/**
 * `npm run campaign`: attacks on the built program, with real processes, disks, clocks and Redis, while the API is edited
 * all the time and a consumer follows. Options: `--minutes 5` or `--kills 1000` say how long, `--attacks kill,flush` which
 * ones, `--seed` draws the same attacks, pauses and edits again. Time itself is real, so that no two runs meet the same
 * moment. `--list` lists the attacks.
 */

import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRandom, shuffled } from '../../model-api/index.ts';
import type { Attack } from './attack.ts';
import { attacks } from './attacks.ts';
import type { Finding } from './checks.ts';
import { type Consumer, follow } from './consumer.ts';
import { checkLeftovers } from './leftovers.ts';
import { playRound, type Round, type Stage } from './rounds.ts';
import { linesOf, markdownOf } from './table.ts';
import { type Watch, watch } from './watch.ts';
import { openWorld, type World } from './world.ts';

const { values: given } = parseArgs({
  options: {
    minutes: { type: 'string' },
    kills: { type: 'string' },
    attacks: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    list: { type: 'boolean', default: false },
  },
});

const DEFAULT_MINUTES = 5;
/** How long a round strikes at least and at most; where kills are counted, rest and checks are to take less of the time. */
const ROUND_MS = given.kills ? { least: 15_000, most: 60_000 } : { least: 8_000, most: 25_000 };
/** An attack that lasts so long comes once. */
const LONG_MS = 45_000;
/** What a round takes beside its strikes: rest, two proofs, checks. */
const SETTLING_MS = 8_000;
const MOST_SHOWN = 20;

const print = (line = '') => process.stdout.write(`${line}\n`);

if (given.list) for (const { name, about } of attacks) print(`${name.padEnd(18)}${about}`);
else process.exit((await campaign(Number(given.seed))) ? 0 : 1);

async function campaign(seed: number): Promise<boolean> {
  const chosen = choose();
  print(`seed ${seed}`);
  const world = await openWorld(seed);
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stop.abort());
  const rounds: Round[] = [];
  let stage: Stage | undefined;
  try {
    world.daemon.start();
    await world.daemon.walked(30_000);
    stage = { world, consumer: follow(world), watch: watch(world) };
    // A campaign that is stopped tells what it has seen so far.
    await Promise.race([play(stage, possible(chosen, world), seed, rounds), aborted(stop.signal)]);
    await Promise.all([stage.consumer.stop(), stage.watch.stop()]);
    await world.daemon.end();
    const atTheEnd = stop.signal.aborted ? [] : await checkLeftovers(world);
    report(rounds, atTheEnd, stage);
    const isWell = [...rounds.flatMap(({ findings }) => findings), ...atTheEnd].length === 0;
    const isHonest = rounds.every(({ lies }) => lies.length === 0);
    if (!(isWell && isHonest)) keep(world);
    return isWell && isHonest && rounds.length > 0 && !stop.signal.aborted;
  } finally {
    await Promise.all([stage?.consumer.stop(), stage?.watch.stop()]);
    await world.close();
  }
}

function choose(): readonly Attack[] {
  const names = given.attacks?.split(',');
  const unknown = names?.filter((name) => !attacks.some((attack) => attack.name === name)) ?? [];
  if (unknown.length > 0) throw new Error(`no attack is called ${unknown}: npm run campaign -- --list`);
  const chosen = names ? attacks.filter(({ name }) => names.includes(name)) : attacks;
  if (given.kills && !chosen.some(({ kills }) => kills))
    throw new Error(`nothing is killed beside ${names}: say --minutes`);
  return chosen;
}

function possible(chosen: readonly Attack[], world: World): Attack[] {
  return chosen.filter(({ name, impossible }) => {
    const reason = impossible?.(world);
    if (reason) print(`not tried: ${name}, since ${reason}`);
    return !reason;
  });
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

/** Every attack in turn, in an order drawn anew each time, until the time or the kills are reached. */
async function play(stage: Stage, chosen: readonly Attack[], seed: number, rounds: Round[]): Promise<void> {
  const wantedKills = Number(given.kills ?? 0);
  const minutes = given.kills ? Number.POSITIVE_INFINITY : Number(given.minutes ?? DEFAULT_MINUTES);
  const deadline = performance.now() + minutes * 60_000;
  const kills = () => rounds.reduce((sum, round) => sum + round.kills, 0);
  const fits = ({ lasts }: Attack) => performance.now() + lasts[0] + SETTLING_MS < deadline;
  const isOver = () => (given.kills ? kills() >= wantedKills : !chosen.some(fits));
  for (let cycle = 0; !isOver(); cycle += 1) {
    const due = chosen.filter(({ lasts }) => cycle === 0 || lasts[0] < LONG_MS);
    if (due.length === 0) return;
    for (const attack of shuffled(due, seededRandom(seed, cycle))) {
      if (isOver()) return;
      if (!fits(attack)) continue;
      const chance = (of: number) => seededRandom(seed, cycle, attacks.indexOf(attack), of);
      const left = deadline - performance.now() - SETTLING_MS;
      const drawn = ROUND_MS.least + chance(0)() * (ROUND_MS.most - ROUND_MS.least);
      const ms = Math.min(left, attack.kills ? drawn : ROUND_MS.least);
      const round = await playRound(stage, attack, ms, { strikes: chance(1), kills: chance(2) });
      rounds.push(round);
      tell(round, kills());
    }
  }
}

function tell(round: Round, kills: number): void {
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
  if (found.length > 0) print(`  replay: npm run campaign -- --seed ${given.seed} --attacks ${attack}`);
}

function report(
  rounds: readonly Round[],
  atTheEnd: readonly Finding[],
  { world, consumer, watch }: Stage,
): void {
  for (const { kind, what } of atTheEnd.slice(0, MOST_SHOWN)) print(`at the end: ${kind}: ${what}`);
  print(`\n${markdownOf(linesOf(rounds, atTheEnd))}\n`);
  print(figures(world, consumer, watch));
}

function figures(world: World, consumer: Consumer, watch: Watch): string {
  const versions = world.upstream.lists.map(
    ({ name }) => `SELECT _key FROM "${name.replaceAll('-', '_')}_history"`,
  );
  const [{ count = 0 } = {}] = world.sql<{ count: number }>(
    `SELECT count(*) AS count FROM (${versions.join(' UNION ALL ')})`,
  );
  const [{ walks = 0, proofs = 0 } = {}] = world.sql<{ walks: number; proofs: number }>(
    `SELECT count(*) AS walks, sum(verdict IN ('snapshot', 'verified')) AS proofs FROM walks`,
  );
  const list = (tally: ReadonlyMap<string, number>) =>
    [...tally].map(([name, times]) => `${times} × ${name}`).join(', ') || 'none';
  return [
    `${world.upstream.edits()} edits upstream, ${walks} walks, ${proofs} of them proofs, ${count} earlier versions kept`,
    `daemon: ${world.daemon.counts.starts} starts; ended by itself: ${list(world.daemon.ends)}`,
    `consumer: ${consumer.counts.polls} polls, ${consumer.counts.rows} rows; not answered: ${list(consumer.failed)}`,
    `status: asked ${watch.counts.asked} times, green ${watch.counts.green} times; else: ${list(watch.others)}`,
  ].join('\n');
}

/** So that it can be looked into: the disk goes with the campaign. */
function keep({ database, log }: World): void {
  const folder = mkdtempSync(join(tmpdir(), 'campaign-broken-'));
  for (const file of [database, log])
    if (existsSync(file)) copyFileSync(file, join(folder, file.split('/').at(-1) ?? ''));
  print(`the database and the log are kept in ${folder}`);
}
