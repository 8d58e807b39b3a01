/** Random kills of the daemon and of its Redis, one after the other, at any moment of their work. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../../model-api/index.ts';
import { signal } from '../world/processes.ts';
import type { World } from '../world.ts';

/** How long the daemon may take to end a walk; a kill then falls all the same. */
const PATIENCE_MS = 6_000;
/** Kills that let it end a walk first; the others fall while it starts. */
const AFTER_A_WALK = 0.6;
const LONGEST_PAUSE_MS = 900;

/** @param killed is called for each. Resolves once `over` is aborted. */
export async function killAtRandom(
  { daemon }: World,
  random: Random,
  over: AbortSignal,
  killed: () => void,
): Promise<void> {
  const pause = (ms: number) => delay(ms, undefined, { signal: over }).catch(() => undefined);
  while (!over.aborted) {
    // Drawn in this order whatever happens, so that a seed always draws the same.
    const [waits, pauses, whom] = [random() < AFTER_A_WALK, random() * LONGEST_PAUSE_MS, random()];
    if (waits) await Promise.race([daemon.walked(PATIENCE_MS), pause(PATIENCE_MS)]);
    await pause(pauses);
    if (over.aborted) return;
    if (daemon.isSpared()) continue;
    const [killsRedis, killsDaemon] = [whom > 0.6, whom < 0.6 || whom > 0.8];
    const hasKilledRedis = killsRedis && signal(daemon.redisPid(), 'SIGKILL');
    const hasKilledDaemon = killsDaemon && daemon.kill();
    if (hasKilledRedis || hasKilledDaemon) killed();
  }
}
