/** Every attack of the campaign. */

import { apiAttacks } from './attacks/api.ts';
import type { Attack } from './attacks/attack.ts';
import { feedAttacks } from './attacks/feed.ts';
import { fileAttacks } from './attacks/files.ts';
import { clockAttacks, processAttacks } from './attacks/processes.ts';
import { externalRedisAttacks, redisAttacks } from './attacks/redis.ts';
import { lakeAttacks, shippingAttacks } from './attacks/sinks.ts';

export const attacks: readonly Attack[] = [
  ...processAttacks,
  ...fileAttacks,
  ...clockAttacks,
  ...redisAttacks,
  ...externalRedisAttacks,
  ...apiAttacks,
  ...shippingAttacks,
  ...lakeAttacks,
  ...feedAttacks,
];
