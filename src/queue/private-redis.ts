/** The daemon's own Redis: started, kept alive, and ended with the daemon. */

import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, systemClock } from '../clock.ts';
import { Failure } from '../errors.ts';
import type { Log } from './log.ts';
import { findRedisServer, spawnRedis } from './redis-process.ts';
import { ping, privateFolder, socketPath } from './redis-socket.ts';

export type PrivateRedis = {
  connection: { path: string };
  /** Ends the server and keeps it ended. */
  close(): Promise<void>;
};

/** A killed daemon's server saves and goes within tens of milliseconds. */
const HANDOVER_MS = 5_000;
const START_MS = 30_000;
const START_ATTEMPTS = 3;
const STOP_MS = 1_500;
const POLL_MS = 10;
/** A server that ran this long was well: its death is the first again. */
const STEADY_MS = 60_000;
const SHORTEST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

/**
 * Starts a Redis on a unix socket under `dir`, which the caller holds exclusively: no TCP port, an append-only
 * file, no eviction. Whenever it dies it is started again.
 * @throws Failure `config` without a server to run, `incomplete` while another one serves the socket, `disk`
 * when it does not start.
 */
export async function startPrivateRedis({
  dir,
  log,
  clock = systemClock,
  binary = findRedisServer(),
}: {
  dir: string;
  log: Log;
  clock?: Clock;
  binary?: string;
}): Promise<PrivateRedis> {
  const home = join(dir, 'redis');
  privateFolder(home);
  const path = socketPath(home);
  const closing = new AbortController();

  if (!(await isFree(clock.now() + HANDOVER_MS)))
    throw new Failure('incomplete', `${path}: another Redis still serves it; end that one, then start again`);
  let server = spawnRedis(binary, home, path);
  let deaths = 0;
  let lastWords = '';
  const care = keepAlive();

  async function keepAlive(): Promise<void> {
    for (;;) {
      const since = clock.now();
      lastWords = await server.ended;
      if (closing.signal.aborted) return;
      deaths = clock.now() - since > STEADY_MS ? 1 : deaths + 1;
      log.error({ redis: path, err: lastWords }, 'the private Redis ended: starting it again');
      if (isDamaged(lastWords)) setAside(home, log);
      try {
        await clock.sleep(Math.min(SHORTEST_PAUSE_MS * 2 ** (deaths - 1), LONGEST_PAUSE_MS), closing.signal);
        await isFree(Number.POSITIVE_INFINITY);
      } catch {
        return;
      }
      server = spawnRedis(binary, home, path);
    }
  }

  /** A second server on a socket would silently take it from the first, and share its files. */
  async function isFree(deadline: number): Promise<boolean> {
    while ((await ping(path)) !== 'nobody') {
      if (clock.now() > deadline) return false;
      await clock.sleep(POLL_MS, closing.signal);
    }
    return true;
  }

  async function untilReady(): Promise<void> {
    const deadline = clock.now() + START_MS;
    while ((await ping(path)) !== 'ready') {
      if (deaths >= START_ATTEMPTS || clock.now() > deadline)
        throw new Failure('disk', `the private Redis does not start: ${lastWords || 'it does not answer'}`);
      await clock.sleep(POLL_MS);
    }
  }

  async function close(): Promise<void> {
    closing.abort();
    await server.stop(STOP_MS);
    await care;
  }

  try {
    await untilReady();
  } catch (thrown) {
    await close();
    throw thrown;
  }
  return { connection: { path }, close };
}

function isDamaged(lastWords: string): boolean {
  return /append only file|\bAOF\b|\bRDB\b/.test(lastWords);
}

/** Redis holds nothing that cannot be lost: better to start empty than not to start. */
function setAside(home: string, log: Log): void {
  for (const file of ['appendonlydir', 'appendonly.aof'].map((name) => join(home, name)))
    if (existsSync(file)) {
      rmSync(`${file}.damaged`, { recursive: true, force: true });
      renameSync(file, `${file}.damaged`);
      log.warn({ redis: file }, 'the private Redis could not read its file: set aside as .damaged');
    }
}
