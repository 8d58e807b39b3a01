/** The daemon's own Redis is emptied; and a Redis of ours, over TLS, too, is dead for a while. What else it may refuse, `test/daemon/redis.test.ts` tries. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { findRedisServer } from '../../../src/queue/private-redis.ts';
import { freePort } from '../../../test/helpers/loopback.ts';
import type { Attack, End } from '../attacks.ts';
import type { World } from '../world.ts';

export const redisAttacks: readonly Attack[] = [
  {
    name: 'flush',
    about: 'FLUSHALL',
    lasts: [500, 2_000],
    kills: true,
    begin: flush,
  },
  {
    name: 'redis-over-tls',
    about:
      'REDIS_URL is rediss://, with a certificate that NODE_EXTRA_CA_CERTS names; it dies, and comes back empty',
    lasts: [3_000, 6_000],
    kills: true,
    begin: (world) => replaceRedis(world, true),
  },
  {
    name: 'redis-dead',
    about: 'REDIS_URL names a Redis that dies, and comes back empty',
    lasts: [3_000, 10_000],
    kills: true,
    begin: (world) => replaceRedis(world, false),
  },
];

/** As soon as the daemon runs a Redis. @throws where there is none for a minute. */
async function flush({ mirrorDir }: World): Promise<End> {
  const path = join(mirrorDir, 'redis', 'redis.sock');
  const redis = new Redis({ path, retryStrategy: () => 100, maxRetriesPerRequest: 600 });
  redis.on('error', () => undefined);
  try {
    await redis.flushall();
  } finally {
    redis.disconnect();
  }
  return () => undefined;
}

async function replaceRedis({ scratch, daemon, extra }: World, isTls: boolean): Promise<End> {
  const home = join(scratch, 'external-redis');
  mkdirSync(home);
  const port = String(await freePort());
  const [certificate, key] = ['first.crt', 'first.key'].map((name) => resolve('test/fixtures/tls', name));
  const tls = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', certificate];
  const ports = isTls
    ? ['--port', '0', '--tls-port', port, '--tls-auth-clients', 'no', ...tls]
    : ['--port', port];
  const keeping = ['--dir', home, '--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction'];
  const settings = ['--bind', '127.0.0.1', ...ports, ...keeping].map(String);
  const serve = () => spawn(findRedisServer(), settings, { cwd: home, stdio: 'ignore' });
  // Within a minute; kills at random, one after the other, could keep it from that on a busy machine.
  const walks = () => daemon.spared(daemon.walked(60_000));
  let server = serve();
  extra['REDIS_URL'] = `${isTls ? 'rediss' : 'redis'}://127.0.0.1:${port}`;
  if (isTls) extra['NODE_EXTRA_CA_CERTS'] = String(certificate);
  await daemon.restart();
  const walked = await walks();
  await kill(server);
  const walkedWithout = await walks();
  return async () => {
    server = serve();
    const walkedAgain = await walks();
    for (const name of ['REDIS_URL', 'NODE_EXTRA_CA_CERTS']) delete extra[name];
    await daemon.restart();
    await kill(server);
    rmSync(home, { recursive: true });
    assert.ok(walked, 'the daemon walks on a Redis that is not its own');
    assert.ok(walkedWithout, 'the daemon walks on while its Redis is dead');
    assert.ok(walkedAgain, 'the daemon walks again within a minute of its Redis coming back');
  };
}

async function kill(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'exit');
  server.kill('SIGKILL');
  await ended;
}
