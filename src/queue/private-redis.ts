/** The daemon's own Redis: started, kept alive, and ended with the daemon. It holds nothing that cannot be lost. */

import { accessSync, chmodSync, constants, existsSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { doubledMs } from '../base/backoff.ts';
import { startChild } from '../base/child.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { makeFolder, socketIn } from '../base/disk.ts';
import { generalEnvironment } from '../base/environment.ts';
import { Failure, toError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';

export type PrivateRedis = {
  target: { path: string };
  /** Ends the server and keeps it ended. */
  close(): Promise<void>;
};

const PAUSES = { firstMs: 100, longestMs: 10_000 };
/** The end of a server that ran for so long counts as the first. */
const STEADY_MS = 60_000;
const STOP_MS = 1_500;
const POLL_MS = 10;
const LONGEST_OUTPUT = 2_000;

/**
 * Starts a Redis on a unix socket under `dir`, whose lock the caller holds: no TCP port, no file, no eviction. Whenever it ends it is
 * started again. It listens soon after this returns.
 * @throws Failure `config` without a server to run, or where the path of its socket is too long; `disk`.
 */
export function startPrivateRedis(parts: {
  dir: string;
  log: Pick<Log, 'warn'>;
  clock?: Clock;
  binary?: string;
}): PrivateRedis {
  const { dir, log, clock = systemClock, binary = findRedisServer() } = parts;
  const home = join(dir, 'redis');
  try {
    makeFolder(home, 0o700);
    chmodSync(home, 0o700);
  } catch (cause) {
    throw new Failure('disk', `${home}: cannot be made a private folder of this user`, { cause });
  }
  // A server removes its socket as it ends, and that of a daemon that was killed ends a moment later: so each has a name of its own first.
  const own = socketIn(home, `redis.sock.${process.pid}`);
  const path = join(home, 'redis.sock');
  const ending = new AbortController();
  const { signal } = ending;

  async function keepAlive(): Promise<void> {
    let known = '';
    for (let ends = 0; !signal.aborted; ) {
      const began = clock.monotonic();
      const lastLine = await serve().catch((thrown) => toError(thrown).message);
      if (signal.aborted) return;
      const wasSteady = clock.monotonic() - began > STEADY_MS;
      if (wasSteady || lastLine !== known)
        log.warn({ redis: path, err: lastLine }, 'the private Redis ended: it is started again');
      known = lastLine;
      ends = wasSteady ? 1 : ends + 1;
      await clock.sleep(doubledMs(ends, PAUSES), signal).catch(() => undefined);
    }
  }

  /** Runs a server until it ends. @returns its last line. */
  async function serve(): Promise<string> {
    rmSync(own, { force: true });
    const server = spawnRedis(binary, home, own);
    let hasEnded = false;
    void server.ended.then(() => {
      hasEnded = true;
    });
    const stop = () => void server.stop();
    signal.addEventListener('abort', stop);
    while (!existsSync(own) && !hasEnded) await clock.sleep(POLL_MS);
    if (existsSync(own)) {
      renameSync(own, path);
      chmodSync(path, 0o700);
    }
    const lastLine = await server.ended;
    signal.removeEventListener('abort', stop);
    return lastLine;
  }

  const kept = keepAlive();
  return {
    target: { path },
    async close() {
      ending.abort();
      await kept;
      rmSync(path, { force: true });
    },
  };
}

/** The path of redis-server or valkey-server. */
export function findRedisServer(searchPath = generalEnvironment()['PATH'] ?? ''): string {
  const found = findOn(searchPath, 'redis-server') ?? findOn(searchPath, 'valkey-server');
  if (found) return found;
  const [, command] = installers.find(([name]) => findOn(searchPath, name)) ?? [];
  const how = command === undefined ? 'redis-server or valkey-server' : `one of them (${command})`;
  throw new Failure(
    'config',
    `found neither redis-server nor valkey-server on PATH: install ${how}, or set REDIS_URL to a Redis of yours; market-mirror sync needs none`,
  );
}

/** What brings a Redis server, by the name of the program; as in setup.sh. */
const installers = [
  ['apt-get', 'apt-get install redis-server'],
  ['dnf', 'dnf install valkey'],
  ['apk', 'apk add redis'],
  ['brew', 'brew install redis'],
] as const;

const findOn = (searchPath: string, name: string): string | undefined =>
  searchPath
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isExecutable);

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

type RedisProcess = {
  /** Resolves when the server is gone, with its last line or the signal that killed it. Never rejects. */
  ended: Promise<string>;
  /** Ends the server, and kills it if it does not end. */
  stop(): Promise<void>;
};

function spawnRedis(binary: string, home: string, socket: string): RedisProcess {
  const settings = [
    ['--port', '0', '--unixsocket', socket],
    ['--dir', home, '--appendonly', 'no', '--save', '', '--maxmemory-policy', 'noeviction'],
    // It wakes once a second, not ten times.
    ['--hz', '1', '--daemonize', 'no', '--logfile', '', '--loglevel', 'warning'],
  ].flat();
  const options = { cwd: home, env: generalEnvironment(), output: 'pipe' } as const;
  const { child, signalGroup } = startChild([binary, ...settings], options);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-LONGEST_OUTPUT);
    });
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (status, signal) => {
      resolve(status === null ? `killed by ${signal}` : lastLineOf(output));
    });
  });
  return {
    ended,
    async stop() {
      child.kill('SIGTERM');
      const kill = setTimeout(() => signalGroup('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(kill);
    },
  };
}

/** The last line, without the process and time that Redis writes before it. */
function lastLineOf(output: string): string {
  const line = output.trim().split('\n').at(-1) ?? '';
  return line.replace(/^\d+:\w \d+ \w+ \d+ [\d:.]+ \S /, '') || 'it said nothing';
}
