/** What an attack is, and every attack of the campaign. */

import type { Random } from '../../model-api/index.ts';
import { fileAttacks } from './attacks/files.ts';
import { apiAttacks, clockAttacks, processAttacks } from './attacks/processes.ts';
import { redisAttacks } from './attacks/redis.ts';
import type { Consumer } from './consumer.ts';
import type { World } from './world.ts';

export type Attack = {
  name: string;
  about: string;
  /** How long it lasts, least and most, in milliseconds. */
  lasts: readonly [number, number];
  /** Whether daemon and Redis are killed at random beside it. */
  kills: boolean;
  /** Consumer and operator rest meanwhile: it has a look of its own, and may last an hour. */
  isLong?: true;
  /** Why it cannot be done here; undefined where it can. */
  impossible?: (world: World) => string | undefined;
  /** Begins it. What it returns ends it. @throws Error where the program breaks a promise meanwhile. */
  begin(world: World, random: Random, consumer: Consumer): Promise<End>;
};

export type End = () => Promise<void> | void;

export const attacks: readonly Attack[] = [
  ...processAttacks,
  ...fileAttacks,
  ...clockAttacks,
  ...redisAttacks,
  ...apiAttacks,
];
