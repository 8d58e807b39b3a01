/** The daemon: its Redis, its sinks and its service. */

import type { Environment } from '../config.ts';
import { examineRedis, examineRedisServer } from '../queue/examine.ts';
import { type DaemonStatus, readDaemon, readService } from '../reading/status.ts';
import { type SinkName, sinkNames, sinks } from '../sinks.ts';
import { type Check, ok, problem, problemOf, skipped, warning } from './check.ts';

/** Checks the user's Redis, or the private one that the daemon runs without `REDIS_URL`. */
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
  if (url) return [...runs, await checkLive('redis', { url })];
  const live = daemon
    ? await checkLive('redis-live', { dir })
    : skipped('redis-live', 'the private Redis runs only while the daemon does');
  return [...runs, checkServer(searchPath), live];
}

function checkQueue({ queue: outage }: DaemonStatus): Check {
  const name = 'queue';
  return outage
    ? warning(
        name,
        `Redis is away since ${outage.since}: ${outage.message}`,
        'the daemon mirrors on without it; see redis below',
      )
    : ok(name, 'BullMQ wakes what is due');
}

function checkServer(searchPath: string | undefined): Check {
  const name = 'redis';
  try {
    const { name: kind, recent, file } = examineRedisServer(searchPath);
    return recent ? ok(name, `${kind}, ${file}, which the daemon runs for itself`) : tooOld(name, kind);
  } catch (thrown) {
    return problemOf(name, thrown, 'only the daemon needs it: sync works without');
  }
}

async function checkLive(name: string, at: { url: string } | { dir: string }): Promise<Check> {
  try {
    const { name: kind, recent } = await examineRedis(at);
    return recent
      ? ok(name, `${kind} takes writes; it holds nothing that cannot be lost`)
      : tooOld(name, kind);
  } catch (thrown) {
    const advice =
      'dir' in at
        ? 'see the log of the daemon, which starts its Redis again by itself'
        : 'start it, or mend REDIS_URL; unset, the daemon runs a Redis of its own';
    return problemOf(name, thrown, advice);
  }
}

const tooOld = (name: string, kind: string) =>
  problem(name, 'config', `${kind} is too old`, 'upgrade to Redis 6.2 or newer, or to Valkey');

/** Whether the daemon brings changes to each sink. */
export function checkSinks(dir: string): Check[] {
  return sinkNames.flatMap((sink) => {
    try {
      return checkArrivals(dir, sink);
    } catch (thrown) {
      return [problemOf(sink, thrown)];
    }
  });
}

function checkArrivals(dir: string, sink: SinkName): Check[] {
  const note = readDaemon(dir)?.[sink];
  if (!note) return [];
  const { name } = sinks[sink];
  if (!note.trouble) return [ok(sink, `the daemon brings what changes to ${name}`)];
  const { message, since, nextTry } = note.trouble;
  const advice = `the daemon tries again at ${nextTry}`;
  return [warning(sink, `nothing has arrived in ${name} since ${since}: ${message}`, advice)];
}

export function checkService(dir: string): Check[] {
  const name = 'serve';
  try {
    const trouble = readDaemon(dir)?.serve;
    if (trouble) {
      const { message, since, nextTry } = trouble;
      return [
        warning(name, `does not run since ${since}: ${message}`, `the daemon tries again at ${nextTry}`),
      ];
    }
    const service = readService(dir);
    return service ? [ok(name, `${service.url ?? 'starting'}, process ${service.pid}`)] : [];
  } catch (thrown) {
    return [problemOf(name, thrown)];
  }
}
