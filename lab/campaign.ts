/**
 * `npm run campaign`: attacks on the built program with real processes, disks, clocks and Redis, while the API is edited and a client
 * follows. A seed draws the same attacks, pauses and edits again; time is real, so no two runs are equal.
 */

import { once } from 'node:events';
import { seededRandom, shuffled } from '../model-api/index.ts';
import type { Attack } from './campaign/attacks.ts';
import { attacks } from './campaign/attacks.ts';
import { checkLeftovers } from './campaign/checks.ts';
import { follow, watch } from './campaign/consumer.ts';
import { keep, print, printRound, report } from './campaign/report.ts';
import { playRound, type Round, type Stage } from './campaign/rounds.ts';
import { openWorld, type World } from './campaign/world.ts';
import { sum } from './figures.ts';
import { freshSeed, listOf, oneOf, positive, tool, whole } from './options.ts';

type Options = { minutes: number; kills?: number; attacks: string[]; seed: number; list?: true };

const names = attacks.map(({ name }) => name);
const command = tool('campaign', 'Attacks the built program; docs/reliability.md has its figures.')
  .option('--minutes <number>', 'how long', positive, 5)
  .option('--kills <number>', 'goes on until so many kills, however long', whole(1))
  .option('--attacks <names>', 'some of them, such as kill,flush; all if not given', listOf(oneOf(names)))
  .option('--seed <number>', 'draws the same attacks, pauses and edits again', whole())
  .option('--list', 'lists the attacks')
  .parse();
const given = { attacks: names, seed: freshSeed(), ...command.opts<Partial<Options>>() } as Options;

/** How long the attack of a round lasts. If kills are counted, rounds are longer, so that rest and checks take less of the time. */
const ROUND_MS = given.kills ? { least: 15_000, most: 60_000 } : { least: 8_000, most: 25_000 };
/** What a round takes after its attack: rest, two proofs, checks. */
const SETTLING_MS = 8_000;

if (given.list) for (const { name, about } of attacks) print(`${name.padEnd(18)}${about}`);
else process.exit((await campaign()) ? 0 : 1);

async function campaign(): Promise<boolean> {
  const { seed } = given;
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
    world.serve.start();
    const key = await keyOf(world);
    stage = { world, consumer: follow(world, key, seededRandom(seed)), watch: watch(world) };
    // A campaign that is stopped tells what it has seen so far.
    await Promise.race([play(stage, possible(chosen, world), seed, rounds), aborted(stop.signal)]);
    await Promise.all([stage.consumer.stop(), stage.watch.stop()]);
    // Who writes ends last: a reader cannot take the log of the database along.
    await world.serve.end();
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

/** Of `serve`, for every list. */
async function keyOf({ cli }: World): Promise<string> {
  const { stdout } = await cli('keys', 'create', '--name', 'campaign', '--json');
  return (JSON.parse(stdout) as { key: string }).key;
}

function choose(): readonly Attack[] {
  const chosen = attacks.filter(({ name }) => given.attacks.includes(name));
  if (given.kills && !chosen.some(({ kills }) => kills))
    command.error(`error: nothing is killed beside ${given.attacks}: say --minutes`);
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

/** Every attack in turn, each time in another order, until the time or the number of kills is reached. */
async function play(stage: Stage, chosen: readonly Attack[], seed: number, rounds: Round[]): Promise<void> {
  const wantedKills = given.kills ?? 0;
  const minutes = given.kills ? Number.POSITIVE_INFINITY : given.minutes;
  const deadline = performance.now() + minutes * 60_000;
  const kills = () => sum(rounds.map((round) => round.kills));
  const fits = ({ lasts }: Attack) => performance.now() + lasts[0] + SETTLING_MS < deadline;
  const isOver = () => (given.kills ? kills() >= wantedKills : !chosen.some(fits));
  for (let cycle = 0; !isOver(); cycle += 1) {
    for (const attack of shuffled(chosen, seededRandom(seed, cycle))) {
      if (isOver()) return;
      if (!fits(attack)) continue;
      const chance = (of: number) => seededRandom(seed, cycle, attacks.indexOf(attack), of);
      const left = deadline - performance.now() - SETTLING_MS;
      const drawn = ROUND_MS.least + chance(0)() * (ROUND_MS.most - ROUND_MS.least);
      const ms = Math.min(left, attack.kills ? drawn : ROUND_MS.least);
      const round = await playRound(stage, attack, ms, { strikes: chance(1), kills: chance(2) });
      rounds.push(round);
      printRound(round, kills(), seed);
    }
  }
}
