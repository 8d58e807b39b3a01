/** One run of redis-server (or valkey-server) that cannot outlive the process that started it. */

import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { isAlive } from '../alive.ts';
import { startChild } from '../child.ts';
import { generalEnvironment } from '../environment.ts';
import { Failure } from '../errors.ts';

export type RedisProcess = {
  /** Resolves when the server is gone, with its last line or the signal that killed it. Never rejects. */
  ended: Promise<string>;
  /** Asks the server to save and go; kills it after `graceMs`. Resolves when it is gone. */
  stop(graceMs: number): Promise<void>;
};

const LAST_WORDS = 2_000;

/** Serves `socket` only, with its append-only file in `home`. Not ready yet when this returns. */
export function spawnRedis(binary: string, home: string, socket: string): RedisProcess {
  const settings = [
    ['--port', '0'],
    ['--unixsocket', socket, '--unixsocketperm', '700'],
    ['--dir', home, '--appendonly', 'yes', '--appendfsync', 'everysec', '--save', ''],
    ['--maxmemory-policy', 'noeviction'],
    ['--daemonize', 'no', '--pidfile', pidFile(home), '--logfile', '', '--loglevel', 'warning'],
  ].flat();
  // Detached from us: a Ctrl-C meant for us goes to our whole group, and we still need the server to end well.
  const { child, signalGroup } = startChild([binary, ...settings], {
    cwd: home,
    env: generalEnvironment(),
    output: 'pipe',
  });
  let words = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      words = (words + text).slice(-LAST_WORDS);
    });
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (status, signal) => {
      resolve(status === null ? `killed by ${signal}` : lastLine(words));
    });
  });
  return {
    ended,
    async stop(graceMs) {
      child.kill('SIGTERM');
      const impatience = setTimeout(() => signalGroup('SIGKILL'), graceMs);
      await ended;
      clearTimeout(impatience);
    },
  };
}

/** The process that last began to serve from `home` and has not ended well, where it still lives. */
export function serverPid(home: string): number | null {
  try {
    const pid = Number.parseInt(readFileSync(pidFile(home), 'utf8'), 10);
    return isAlive(pid) ? pid : null;
  } catch {
    return null;
  }
}

const pidFile = (home: string) => join(home, 'redis.pid');

/** Without the process and time that Redis writes before it. */
function lastLine(words: string): string {
  const line = words.trim().split('\n').at(-1) ?? '';
  return line.replace(/^\d+:\w \d+ \w+ \d+ [\d:.]+ \S /, '') || 'it said nothing';
}

/** The path of redis-server or valkey-server. */
export function findRedisServer(searchPath = generalEnvironment()['PATH'] ?? ''): string {
  const found = searchPath
    .split(delimiter)
    .filter((folder) => folder !== '')
    .flatMap((folder) => [join(folder, 'redis-server'), join(folder, 'valkey-server')])
    .find(isExecutable);
  if (found) return found;
  throw new Failure(
    'config',
    'found neither redis-server nor valkey-server on PATH: install one of them, or set REDIS_URL to a Redis of yours',
  );
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
