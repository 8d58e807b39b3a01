/** Faults of the Redis that the daemon runs, made in the server itself. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Attack } from './attack.ts';

type Fault = {
  name: string;
  about: string;
  make(redis: Redis): Promise<unknown>;
  mend?(redis: Redis): Promise<unknown>;
};

const PASSWORD = 'not-the-one-that-the-daemon-knows';
const MOST_TRIES = 50;

const faults: readonly Fault[] = [
  {
    name: 'flush',
    about: 'FLUSHALL',
    make: (redis) => redis.flushall(),
  },
  {
    name: 'no-scripts',
    about: 'SCRIPT FLUSH, and every connection is cut',
    async make(redis) {
      await redis.script('FLUSH');
      await redis.call('CLIENT', 'KILL', 'SKIPME', 'yes');
    },
  },
  {
    name: 'no-memory',
    about: 'Redis has more than its maxmemory, and evicts nothing: OOM',
    make: (redis) => redis.config('SET', 'maxmemory', '1mb'),
    mend: (redis) => redis.config('SET', 'maxmemory', '0'),
  },
  {
    name: 'read-only',
    about: 'Redis becomes a replica: READONLY',
    make: (redis) => redis.call('REPLICAOF', '127.0.0.1', '1'),
    mend: (redis) => redis.call('REPLICAOF', 'NO', 'ONE'),
  },
  {
    name: 'password',
    about: 'Redis asks for a password that nobody knows: NOAUTH',
    make: (redis) =>
      withPassword(redis, async () => {
        await redis.config('SET', 'requirepass', PASSWORD);
        await redis.call('CLIENT', 'KILL', 'SKIPME', 'yes');
      }),
    mend: (redis) => withPassword(redis, () => redis.config('SET', 'requirepass', '')),
  },
  {
    name: 'no-eval',
    about: 'an ACL without EVAL and EVALSHA, which BullMQ is made of: NOPERM',
    make: (redis) => redis.call('ACL', 'SETUSER', 'default', '-eval', '-evalsha'),
    mend: (redis) => redis.call('ACL', 'SETUSER', 'default', '+eval', '+evalsha'),
  },
];

/** A server that is killed meanwhile may be another one at every try, with the password or without. */
async function withPassword<T>(redis: Redis, work: () => Promise<T>): Promise<T> {
  for (let left = MOST_TRIES; ; left -= 1)
    try {
      await redis.auth(PASSWORD).catch(() => undefined);
      return await work();
    } catch (thrown) {
      if (left === 0 || !String(thrown).includes('NOAUTH')) throw thrown;
      await delay(100);
    }
}

export const redisAttacks: readonly Attack[] = faults.map(({ name, about, make, mend }) => ({
  name,
  about,
  lasts: mend ? [2_000, 6_000] : [500, 2_000],
  kills: true,
  async begin(world) {
    await world.withRedis(make);
    // A server that was killed meanwhile has forgotten the fault.
    return () => (mend ? world.withRedis(mend).then(() => undefined) : undefined);
  },
}));
