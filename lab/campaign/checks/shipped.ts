/** What must hold of the Postgres that follows the mirror, once the API has been left alone. */

import { setTimeout as delay } from 'node:timers/promises';
import { differencesThere, momentOf } from '../../../test/helpers/shipped.ts';
import type { Finding } from '../checks.ts';
import type { World } from '../world.ts';

const TRIES = 3;
const PAUSE_MS = 300;

/** By an independent reader, value by value; nothing where nothing has been shipped. */
export async function checkShipped(world: World): Promise<Finding[]> {
  const { shippedTo } = world;
  if (!shippedTo) return [];
  let found: string[] = [];
  for (let tried = 0; tried < TRIES; tried += 1) {
    // Polls of `usage` go on.
    const until = momentOf(world.database);
    const { code, stderr, stdout } = await world.run(['ship'], { MIRROR_SHIP: shippedTo.url }).ended;
    found =
      code === 0
        ? await differencesThere(world.database, shippedTo.query, until)
        : [`ship ended with ${code}: ${stdout}${stderr}`];
    if (found.length === 0) return [];
    await delay(PAUSE_MS);
  }
  return found.map((what) => ({ kind: 'false', what: `in Postgres: ${what}` }));
}
