/** What an attack is, and every attack of the campaign. */

import { fileAttacks } from './attacks/files.ts';
import { apiAttacks, clockAttacks, processAttacks } from './attacks/processes.ts';
import { redisAttacks } from './attacks/redis.ts';
import type { World } from './world.ts';

export type Attack = {
  name: string;
  about: string;
  /** How long it lasts, least and most, in milliseconds. */
  lasts: readonly [number, number];
  /** Whether daemon, Redis and `serve` are killed at random beside it. */
  kills: boolean;
  /** Why it cannot be done here; undefined where it can. */
  impossible?: (world: World) => string | undefined;
  /** Begins it. What it returns ends it. @throws Error where the program breaks a promise meanwhile. */
  begin(world: World): Promise<End>;
};

export type End = () => Promise<void> | void;

export const attacks: readonly Attack[] = [
  ...processAttacks,
  ...fileAttacks,
  ...clockAttacks,
  ...redisAttacks,
  ...apiAttacks,
];
