/** The daemon's own Redis is emptied; and a Redis of ours, over TLS, too, is dead for a while. What else it may refuse, `test/daemon/redis.test.ts` tries. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { exitCodes } from '../../../src/base/errors.ts';
import { findRedisServer } from '../../../src/queue/private-redis.ts';
import type { Status } from '../../../src/reading/status.ts';
import { freePort } from '../../../test/helpers/loopback.ts';
import type { Attack, End } from '../attacks.ts';
import { print } from '../report.ts';
import { tableOf, type World } from '../world.ts';

export const redisAttacks: readonly Attack[] = [
  {
    name: 'flush',
    about: 'FLUSHALL',
    lasts: [500, 2_000],
    kills: true,
    async begin(world) {
      await world.withRedis((redis) => redis.flushall());
      return () => undefined;
    },
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
  away('redis-away-60s', 'a Redis is gone for a minute, and every dataset stays fresh', 60_000),
  away('redis-away-1h', 'the same for an hour', 3_600_000),
];

function away(name: string, about: string, ms: number): Attack {
  return { name, about, lasts: [ms, ms], kills: false, isLong: true, begin: beginAway };
}

const LOOK_MS = 10_000;
const EDITS_MS = 2_000;
/** Of the schedules while Redis is away; one of them is a pattern. An interval, a walk and a look of the timer make an age. */
const INTERVAL_MS = 10_000;
const FRESH_MS = 2 * INTERVAL_MS + 5_000;

async function beginAway(world: World): Promise<End> {
  const { lists, rest } = world.upstream;
  const schedules = [...lists.map(({ name }) => name), 'usage'].map((job, at) => [
    `MIRROR_SCHEDULE_${tableOf(job).toUpperCase()}`,
    at === 0 ? `*/${INTERVAL_MS / 1_000} * * * * *` : `every ${INTERVAL_MS / 1_000}s`,
  ]);
  Object.assign(world.extra, Object.fromEntries(schedules));
  const comeBack = await replaceRedis(world, false);
  await rest();
  const over = new AbortController();
  const looking = lookAtFreshness(world, over.signal);
  return async () => {
    over.abort();
    const seen = await looking;
    for (const [name] of schedules) delete world.extra[String(name)];
    await comeBack();
    assert.ok(seen.looks > 0 && seen.broken.length === 0, `without Redis ${seen.broken.join('; ')}`);
  };
}

/** Asks `status` and looks at every row, again and again. The API is edited between two looks. */
async function lookAtFreshness(
  { cli, daemon, shown, upstream }: World,
  signal: AbortSignal,
): Promise<{ looks: number; broken: string[] }> {
  const broken: string[] = [];
  const ages: number[] = [];
  let looks = 0;
  const pid = daemon.pid();
  const [began, cpuBefore] = [performance.now(), cpuMsOf(pid)];
  const pause = (ms: number) => delay(ms, undefined, { signal }).catch(() => undefined);
  while (!signal.aborted) {
    await upstream.edit();
    await pause(EDITS_MS);
    await upstream.rest();
    await pause(LOOK_MS - EDITS_MS);
    const asked = Date.now();
    const status = async () => {
      const { code, stdout } = await cli('status', '--json');
      return { code, ...(JSON.parse(stdout) as Status) };
    };
    let { code, datasets, problems } = await status();
    // One call may have got no answer, and is repeated a second later.
    if (code === exitCodes.unreachable) {
      await pause(LOOK_MS / 2);
      ({ code, datasets, problems } = await status());
    }
    looks += 1;
    const at = `at look ${looks}`;
    if (code !== exitCodes.done) broken.push(`${at} status ended with ${code}: ${problems[0]?.message}`);
    if (!problems.some((problem) => problem.code === 'redis-away'))
      broken.push(`${at} status did not name it`);
    for (const { job, ageSeconds } of datasets) {
      const ageMs = (ageSeconds ?? Number.POSITIVE_INFINITY) * 1_000;
      ages.push(ageMs);
      if (ageMs > FRESH_MS) broken.push(`${at} ${job} was ${ageMs} ms old`);
    }
    for (const { name } of upstream.lists) {
      const old = upstream.journal.shownTooOld(name, shown(name), asked - FRESH_MS);
      if (old.length > 0) broken.push(`${at} ${old.length} rows of ${name} were too old`);
    }
  }
  if (daemon.pid() !== pid) broken.push('the daemon did not live through it');
  const [seconds, cpuMs] = [(performance.now() - began) / 1_000, cpuMsOf(daemon.pid()) - cpuBefore];
  print(
    `without Redis for ${Math.round(seconds)} s: ${looks} looks, the oldest dataset ${Math.max(...ages) / 1_000} s old, ` +
      `the daemon took ${(cpuMs / seconds / 10).toFixed(2)} % of a core`,
  );
  return { looks, broken };
}

/** User and system time of a process; the kernel counts a hundred ticks a second. */
function cpuMsOf(pid: number | undefined): number {
  const [, after = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/\) (.*)/s);
  const [user, system] = after.split(' ').slice(11, 13).map(Number);
  return ((user ?? 0) + (system ?? 0)) * 10;
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
  return async () => {
    server = serve();
    const walkedAgain = await walks();
    for (const name of ['REDIS_URL', 'NODE_EXTRA_CA_CERTS']) delete extra[name];
    await daemon.restart();
    await kill(server);
    rmSync(home, { recursive: true });
    assert.ok(walked, 'the daemon walks on a Redis that is not its own');
    assert.ok(walkedAgain, 'the daemon walks again within a minute of its Redis coming back');
  };
}

async function kill(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'exit');
  server.kill('SIGKILL');
  await ended;
}
