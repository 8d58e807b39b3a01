/** Every attack of the campaign. */

import { apiAttacks } from './attacks/api.ts';
import type { Attack } from './attacks/attack.ts';
import { clockAttacks } from './attacks/clock.ts';
import { externalRedisAttacks } from './attacks/external-redis.ts';
import { fileAttacks } from './attacks/files.ts';
import { lakeAttacks } from './attacks/lake.ts';
import { processAttacks } from './attacks/processes.ts';
import { redisAttacks } from './attacks/redis.ts';
import { shippingAttacks } from './attacks/shipping.ts';

export const attacks: readonly Attack[] = [
  ...processAttacks,
  ...fileAttacks,
  ...clockAttacks,
  ...redisAttacks,
  ...externalRedisAttacks,
  ...apiAttacks,
  ...shippingAttacks,
  ...lakeAttacks,
];
