/** The daemon's own Redis: started, kept alive, and ended with the daemon. */

import { chmodSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { doubledMs } from '../backoff.ts';
import { type Clock, systemClock } from '../clock.ts';
import { Failure } from '../errors.ts';
import { RedisError } from '../redis.ts';
import { socketPath } from '../socket-path.ts';
import type { Log } from './log.ts';
import { findRedisServer, serverPid, spawnRedis } from './redis-process.ts';

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
const PING_MS = 1_000;
const POLL_MS = 10;
/** A server that ran this long was well: its death is the first again. */
const STEADY_MS = 60_000;
const PAUSES = { firstMs: 100, longestMs: 10_000 };

/**
 * Starts a Redis on a unix socket under `dir`, which the caller holds exclusively: no TCP port, an append-only
 * file, no eviction. Whenever it dies it is started again.
 * @throws Failure `config` without a server to run, `incomplete` while another one serves the socket, `disk`
 * when it does not start.
 */
export async function startPrivateRedis(parts: {
  dir: string;
  log: Log;
  /** Told of every death of the server. */
  report?: (error: Error) => void;
  clock?: Clock;
  binary?: string;
  /** Ends the start. */
  signal?: AbortSignal | undefined;
}): Promise<PrivateRedis> {
  const { dir, log, report = () => undefined, clock = systemClock, signal } = parts;
  const binary = parts.binary ?? findRedisServer();
  const { path } = privateTarget(dir);
  const home = homeIn(dir);
  const closing = new AbortController();
  const starting = signal ? AbortSignal.any([closing.signal, signal]) : closing.signal;

  if (!(await isFree(clock.monotonic() + HANDOVER_MS, starting))) {
    const pid = serverPid(home);
    const that = pid === null ? 'that one' : `it (kill -9 ${pid})`;
    throw new Failure(
      'incomplete',
      `${path}: another Redis${pid === null ? '' : `, process ${pid},`} still serves it, left by a daemon that was killed: end ${that}, then start again`,
    );
  }
  let server = spawnRedis(binary, home, path);
  let deaths = 0;
  let lastWords = '';
  const care = keepAlive();

  async function keepAlive(): Promise<void> {
    for (;;) {
      const since = clock.monotonic();
      lastWords = await server.ended;
      if (closing.signal.aborted) return;
      deaths = clock.monotonic() - since > STEADY_MS ? 1 : deaths + 1;
      report(new RedisError('ended', lastWords));
      if (isDamaged(lastWords)) setAside(home, log);
      try {
        await clock.sleep(doubledMs(deaths, PAUSES), closing.signal);
        await isFree(Number.POSITIVE_INFINITY, closing.signal);
      } catch {
        return;
      }
      server = spawnRedis(binary, home, path);
    }
  }

  /** A second server on a socket would silently take it from the first, and share its files. */
  async function isFree(deadline: number, within: AbortSignal): Promise<boolean> {
    while ((await ping(path)) !== 'nobody') {
      if (clock.monotonic() > deadline) return false;
      await clock.sleep(POLL_MS, within);
    }
    return true;
  }

  async function untilReady(): Promise<void> {
    const deadline = clock.monotonic() + START_MS;
    while ((await ping(path)) !== 'ready') {
      if (deaths >= START_ATTEMPTS || clock.monotonic() > deadline)
        throw new Failure('disk', `the private Redis does not start: ${lastWords || 'it does not answer'}`);
      await clock.sleep(POLL_MS, starting);
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

/** Where the private Redis of the mirror in `dir` listens. Makes the folder that it lives in. */
export function privateTarget(dir: string): { path: string } {
  const home = homeIn(dir);
  privateFolder(home);
  return { path: socketPath(home, 'redis.sock') };
}

const homeIn = (dir: string) => join(dir, 'redis');

/** A full disk keeps the server from its file as well, and leaves nothing damaged. */
function isDamaged(lastWords: string): boolean {
  return (
    /append only file|\bAOF\b|\bRDB\b/.test(lastWords) && !/No space left|quota exceeded/.test(lastWords)
  );
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

/** Creates the folder for us alone, or makes it so. */
function privateFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
  } catch (cause) {
    throw new Failure('disk', `${folder}: cannot be made a private folder of this user`, { cause });
  }
}

/** `ready`: a Redis that takes commands. `busy`: somebody listens, but does not. `nobody`: nobody listens. */
type Answer = 'ready' | 'busy' | 'nobody';

export function ping(socket: string): Promise<Answer> {
  return new Promise((resolve) => {
    const connection = connect({ path: socket });
    const answer = (found: Answer) => {
      connection.destroy();
      resolve(found);
    };
    let text = '';
    connection.setTimeout(PING_MS, () => answer('busy'));
    connection.once('connect', () => connection.write('PING\r\n'));
    connection.on('data', (data) => {
      text += data;
      if (text.includes('\n')) answer(text.startsWith('+PONG') ? 'ready' : 'busy');
    });
    connection.once('end', () => answer('busy'));
    connection.once('error', (error: NodeJS.ErrnoException) =>
      answer(error.code === 'ECONNREFUSED' || error.code === 'ENOENT' ? 'nobody' : 'busy'),
    );
  });
}
