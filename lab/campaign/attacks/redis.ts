/** Faults of the Redis that the daemon runs, made in the server itself; and the daemon on a Redis of ours, over TLS, or dead for a while. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { findRedisServer } from '../../../src/queue/private-redis.ts';
import { freePort } from '../../../test/helpers/loopback.ts';
import { needs } from '../../../test/helpers/tools.ts';
import type { World } from '../world.ts';
import { type Attack, type End, expectThat } from './attack.ts';

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

export const externalRedisAttacks: readonly Attack[] = [
  {
    name: 'redis-over-tls',
    about: 'REDIS_URL is rediss://, with a certificate of an authority of our own (NODE_EXTRA_CA_CERTS)',
    lasts: [3_000, 6_000],
    kills: true,
    begin: overTls,
  },
  {
    name: 'redis-dead',
    about: 'REDIS_URL names a Redis that dies, and comes back empty',
    lasts: [3_000, 10_000],
    kills: true,
    begin: dead,
  },
];

async function overTls(world: World): Promise<End> {
  const home = makeHome(world);
  const authority = certify(home);
  const port = await freePort();
  const server = serve(
    home,
    ['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no'].concat([
      '--tls-cert-file',
      join(home, 'server.crt'),
      '--tls-key-file',
      join(home, 'server.key'),
      '--tls-ca-cert-file',
      authority,
    ]),
  );
  Object.assign(world.extra, { REDIS_URL: `rediss://127.0.0.1:${port}`, NODE_EXTRA_CA_CERTS: authority });
  await world.daemon.restart();
  const walked = await walks(world);
  return async () => {
    await backToOwn(world, server, home);
    expectThat(walked, 'the daemon walks on a Redis over TLS');
  };
}

async function dead(world: World): Promise<End> {
  const home = makeHome(world);
  const port = await freePort();
  let server = serve(home, ['--port', String(port)]);
  world.extra['REDIS_URL'] = `redis://127.0.0.1:${port}`;
  await world.daemon.restart();
  const walked = await walks(world);
  await kill(server);
  return async () => {
    server = serve(home, ['--port', String(port)]);
    const walkedAgain = await walks(world);
    await backToOwn(world, server, home);
    expectThat(walked, 'the daemon walks on a Redis that is not its own');
    expectThat(walkedAgain, 'the daemon walks again within a minute of its Redis coming back');
  };
}

/** Within a minute; kills at random, one after the other, could keep it from that on a busy machine. */
async function walks({ daemon }: World): Promise<boolean> {
  return await daemon.spared(daemon.walked(60_000));
}

async function backToOwn(world: World, server: ChildProcess, home: string): Promise<void> {
  delete world.extra['REDIS_URL'];
  delete world.extra['NODE_EXTRA_CA_CERTS'];
  await world.daemon.restart();
  await kill(server);
  rmSync(home, { recursive: true });
}

function makeHome({ scratch }: World): string {
  const home = join(scratch, 'external-redis');
  mkdirSync(home);
  return home;
}

function serve(home: string, settings: readonly string[]): ChildProcess {
  const quiet = ['--dir', home, '--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction'];
  return spawn(findRedisServer(), ['--bind', '127.0.0.1', ...quiet, ...settings], {
    cwd: home,
    stdio: 'ignore',
  });
}

async function kill(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'exit');
  server.kill('SIGKILL');
  await ended;
}

/** Makes a certificate for 127.0.0.1. @returns the file of the authority that signed it. */
function certify(home: string): string {
  needs('openssl');
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: home, stdio: 'ignore' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.crt', '-subj', '/CN=campaign');
  openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    'server.key',
    '-out',
    'server.crt',
    '-subj',
    '/CN=127.0.0.1',
    '-addext',
    'subjectAltName=IP:127.0.0.1',
    '-addext',
    'basicConstraints=CA:FALSE',
    '-CA',
    'ca.crt',
    '-CAkey',
    'ca.key',
  );
  return join(home, 'ca.crt');
}
