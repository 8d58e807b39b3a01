/** The Redis that schedules and queued runs lie in; only the daemon needs one. */

import { examineRedis, examineRedisServer } from '../queue/examine.ts';
import { type DaemonStatus, readDaemon } from '../reading/status.ts';
import { type Check, ok, problem, problemOf, skipped, warning } from './check.ts';

type Environment = Record<string, string | undefined>;

/** Of the user's own Redis, or of the private one that the daemon runs without `REDIS_URL`. */
export async function checkRedis(
  dir: string,
  { REDIS_URL: url, PATH: searchPath }: Environment,
): Promise<Check[]> {
  let daemon: DaemonStatus | null;
  try {
    daemon = readDaemon(dir);
  } catch (thrown) {
    return [problemOf('daemon', thrown)];
  }
  const runs = daemon
    ? [ok('daemon', `runs as process ${daemon.pid}`), checkQueue(daemon)]
    : [ok('daemon', 'none is running')];
  if (url) return [...runs, ...(await checkLive('redis', { url }))];
  const live = daemon
    ? await checkLive('redis-live', { dir })
    : [skipped('redis-live', 'the private Redis runs only while the daemon does')];
  return [...runs, checkServer('redis', searchPath), ...live];
}

function checkQueue({ queue: outage }: DaemonStatus): Check {
  const name = 'queue';
  return outage
    ? problem(name, 'incomplete', `no run begins since ${outage.since}: ${outage.message}`, outage.advice)
    : ok(name, 'runs begin when they are due');
}

function checkServer(name: string, searchPath: string | undefined): Check {
  try {
    const { name: kind, recent, file } = examineRedisServer(searchPath);
    return recent ? ok(name, `${kind}, ${file}, which the daemon runs for itself`) : tooOld(name, kind);
  } catch (thrown) {
    return problemOf(name, thrown, 'only the daemon needs it: sync works without');
  }
}

async function checkLive(name: string, at: { url: string } | { dir: string }): Promise<Check[]> {
  try {
    const { name: kind, recent, policy, appendOnly, refusal } = await examineRedis(at);
    if (!recent) return [tooOld(name, kind)];
    if (refusal) return [problem(name, 'incomplete', refusal.message, refusal.advice)];
    const keeps =
      appendOnly === null
        ? 'no word on what it keeps'
        : appendOnly
          ? 'append-only file'
          : 'no append-only file';
    return [
      ok(name, `${kind} answers; ${keeps} (it holds nothing that cannot be lost)`),
      policy === 'noeviction'
        ? ok('redis-eviction', 'maxmemory-policy is noeviction')
        : warning(
            'redis-eviction',
            `maxmemory-policy is ${policy ?? 'unknown'}: it may evict queued runs`,
            'set it to noeviction, in redis.conf and by CONFIG SET maxmemory-policy noeviction',
          ),
    ];
  } catch (thrown) {
    const advice =
      'dir' in at
        ? 'see the log of the daemon, which starts its Redis again by itself'
        : 'start it, or mend REDIS_URL; unset, the daemon runs a Redis of its own';
    return [problemOf(name, thrown, advice)];
  }
}

const tooOld = (name: string, kind: string) =>
  problem(name, 'config', `${kind} is too old`, 'upgrade to Redis 6.2 or newer, or to Valkey');
