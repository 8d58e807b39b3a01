/** One round: an attack again and again, random kills beside it, then rest, two proofs, and every check. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../model-api/index.ts';
import type { Attack } from './attacks.ts';
import {
  checkConsumer,
  checkHistory,
  checkIntegrity,
  checkIntervals,
  checkOrphans,
  checkSequence,
  checkTables,
  type Finding,
} from './checks.ts';
import type { Consumer, Watch } from './consumer.ts';
import { signal } from './world/processes.ts';
import type { World } from './world.ts';

export type Stage = { world: World; consumer: Consumer; watch: Watch };

export type Round = {
  attack: string;
  strikes: number;
  /** Of the daemon, its Redis and `serve`. */
  kills: number;
  seconds: number;
  /** From the end of the attack until everything was proven again. */
  secondsToProof: number;
  findings: Finding[];
  lies: string[];
};

const PAUSE_MS = 1_500;
/** Lost ticks are set again within a minute, and a run whose process died is taken up again within half a minute. */
const UNTIL_PROVEN_MS = 150_000;

/** How many kills fall depends on the machine, so they draw from a chance of their own. */
type Chances = { strikes: Random; kills: Random };

/** @param ms the attack is repeated until so much time has passed. */
export async function playRound(stage: Stage, attack: Attack, ms: number, chances: Chances): Promise<Round> {
  const { world, watch } = stage;
  const began = performance.now();
  world.upstream.edit();
  const over = new AbortController();
  let kills = 0;
  const killing = attack.kills
    ? killAtRandom(world, chances.kills, over.signal, () => {
        kills += 1;
      })
    : undefined;
  const { strikes, broken } = await strike(stage, attack, began + ms, chances.strikes);
  over.abort();
  await killing;
  const rested = performance.now();
  const findings = [...broken, ...(await settle(stage))];
  const secondsToProof = (performance.now() - rested) / 1_000;
  findings.push(...(await check(stage)));
  return {
    attack: attack.name,
    strikes,
    kills,
    seconds: (performance.now() - began) / 1_000,
    secondsToProof,
    findings,
    lies: watch.lies.splice(0),
  };
}

async function strike(
  { world }: Stage,
  attack: Attack,
  until: number,
  random: Random,
): Promise<{ strikes: number; broken: Finding[] }> {
  const broken: Finding[] = [];
  let strikes = 0;
  const [least, most] = attack.lasts;
  do {
    const lasts = least + random() * (most - least);
    const pause = 200 + random() * PAUSE_MS;
    try {
      const end = await attack.begin(world);
      strikes += 1;
      await delay(lasts);
      await end();
    } catch (thrown) {
      broken.push({
        kind: 'false',
        what: `${attack.name}: ${thrown instanceof Error ? thrown.message : thrown}`,
      });
    }
    await delay(pause);
  } while (performance.now() < until);
  return { strikes, broken };
}

/** Waits until two walks have proven each list, begun since the last edit, and nothing waits to be removed. */
async function settle({ world }: Stage): Promise<Finding[]> {
  const { sql, upstream, daemon } = world;
  upstream.rest();
  const last = sql<{ id: number }>('SELECT coalesce(max(id), 0) AS id FROM walks')[0]?.id ?? 0;
  const unsettled = () =>
    upstream.lists.filter(({ name }) => {
      const [found] = sql<{ proofs: number; held: number }>(
        `SELECT (SELECT count(*) FROM walks WHERE job = ? AND id > ? AND status = 'complete'
                 AND verdict IN ('snapshot', 'verified')) AS proofs,
                (SELECT held FROM freshness WHERE job = ?) AS held`,
        name,
        last,
        name,
      );
      return !found || found.proofs < 2 || found.held > 0;
    });
  const deadline = performance.now() + UNTIL_PROVEN_MS;
  while (performance.now() < deadline) {
    if (unsettled().length === 0) return [];
    await daemon.walked(500);
  }
  return unsettled().map(({ name }) => ({
    kind: 'lost',
    what: `${name} was not proven within ${UNTIL_PROVEN_MS / 1_000} s after the last attack`,
  }));
}

async function check({ world, consumer }: Stage): Promise<Finding[]> {
  const { daemon, serve, upstream, shown } = world;
  await consumer.catchUp();
  const { journal, lists } = upstream;
  return [
    ...checkTables(journal, lists, shown),
    ...checkConsumer(consumer, lists),
    ...checkHistory(journal, lists, world),
    ...checkIntervals(lists, world),
    ...checkSequence(lists, world),
    ...checkOrphans(lists, world),
    ...checkIntegrity(world),
    ...[daemon, serve].flatMap(({ bugs }) =>
      bugs.splice(0).map((line): Finding => ({ kind: 'false', what: `a program ended with 70: ${line}` })),
    ),
  ];
}

/** How long the daemon may take to end a walk; a kill then falls all the same. */
const PATIENCE_MS = 6_000;
/** Kills that let it end a walk first; the others fall while it starts. */
const AFTER_A_WALK = 0.6;
const LONGEST_PAUSE_MS = 900;

/** @param killed is called for each. Resolves once `over` is aborted. */
async function killAtRandom(
  { daemon, serve }: World,
  random: Random,
  over: AbortSignal,
  killed: () => void,
): Promise<void> {
  const pause = (ms: number) => delay(ms, undefined, { signal: over }).catch(() => undefined);
  while (!over.aborted) {
    // Drawn in this order whatever happens, so that a seed always draws the same.
    const [waits, pauses] = [random() < AFTER_A_WALK, random() * LONGEST_PAUSE_MS];
    const [whom, killsServe] = [random(), random() < 0.5];
    if (waits) await Promise.race([daemon.walked(PATIENCE_MS), pause(PATIENCE_MS)]);
    await pause(pauses);
    if (over.aborted) return;
    if (daemon.isSpared()) continue;
    const [killsRedis, killsDaemon] = [whom > 0.6, whom < 0.6 || whom > 0.8];
    const hasKilledRedis = killsRedis && signal(daemon.redisPid(), 'SIGKILL');
    const hasKilledDaemon = killsDaemon && daemon.kill();
    const hasKilledServe = killsServe && serve.kill();
    if (hasKilledRedis || hasKilledDaemon || hasKilledServe) killed();
  }
}
