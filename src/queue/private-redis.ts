/** The daemon's own Redis: started, kept alive, and ended with the daemon. */

import { accessSync, chmodSync, constants, existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { doubledMs } from '../backoff.ts';
import { startChild } from '../child.ts';
import { type Clock, systemClock } from '../clock.ts';
import { makeFolder } from '../disk.ts';
import { generalEnvironment } from '../environment.ts';
import { Failure, toError } from '../errors.ts';
import type { Log } from '../log.ts';
import { isAlive } from '../process-name.ts';
import { RedisError } from '../redis.ts';
import { socketPath } from '../socket-path.ts';

export type PrivateRedis = {
  connection: { path: string };
  /** Ends the server and keeps it ended. */
  close(): Promise<void>;
};

/** The server of a killed daemon saves and ends within tens of milliseconds. */
const HANDOVER_MS = 5_000;
const START_MS = 30_000;
const START_ATTEMPTS = 3;
const STOP_MS = 1_500;
const PING_MS = 1_000;
const POLL_MS = 10;
/** The death of a server that ran for so long counts as the first. */
const STEADY_MS = 60_000;
const PAUSES = { firstMs: 100, longestMs: 10_000 };
const LONGEST_OUTPUT = 2_000;

/**
 * Starts a Redis on a unix socket under `dir`, whose lock the caller holds: no TCP port, an append-only file, no eviction. Whenever
 * it dies it is started again.
 * @throws Failure `config` without a server to run, `incomplete` while another one serves the socket, `disk`
 * when it does not start.
 */
export async function startPrivateRedis(parts: {
  dir: string;
  log: Log;
  /** Gets an error for each death of the server. */
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

  if (!(await isFree(clock.monotonic() + HANDOVER_MS, starting))) throw occupied(path, serverPid(home));
  let server = spawnRedis(binary, home, path);
  let deaths = 0;
  let lastLine = '';
  const care = keepAlive();

  async function keepAlive(): Promise<void> {
    for (;;) {
      const since = clock.monotonic();
      lastLine = await server.ended;
      if (closing.signal.aborted) return;
      deaths = clock.monotonic() - since > STEADY_MS ? 1 : deaths + 1;
      report(new RedisError('ended', lastLine));
      try {
        await clock.sleep(doubledMs(deaths, PAUSES), closing.signal);
        await isFree(Number.POSITIVE_INFINITY, closing.signal);
        closing.signal.throwIfAborted();
        if (isDamaged(lastLine)) setAside(home, log);
        server = spawnRedis(binary, home, path);
      } catch (thrown) {
        if (closing.signal.aborted) return;
        report(new RedisError('ended', toError(thrown).message));
      }
    }
  }

  /** Waits until nobody serves the socket: a second server would silently take it, and share the first one's files. */
  async function isFree(deadline: number, ending: AbortSignal): Promise<boolean> {
    while ((await ping(path)) !== 'nobody') {
      if (clock.monotonic() > deadline) return false;
      await clock.sleep(POLL_MS, ending);
    }
    return true;
  }

  async function untilReady(): Promise<void> {
    const deadline = clock.monotonic() + START_MS;
    while ((await ping(path)) !== 'ready') {
      if (deaths >= START_ATTEMPTS || clock.monotonic() > deadline)
        throw new Failure('disk', `the private Redis does not start: ${lastLine || 'it does not answer'}`);
      await clock.sleep(POLL_MS, starting);
    }
  }

  async function close(): Promise<void> {
    closing.abort();
    await server.stop();
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

const homeIn = (dir: string) => join(dir, 'redis');
const pidFile = (home: string) => join(home, 'redis.pid');

/** Where the private Redis of the mirror in `dir` listens. Makes its folder, for this user alone. */
export function privateTarget(dir: string): { path: string } {
  const home = homeIn(dir);
  try {
    makeFolder(home, 0o700);
    chmodSync(home, 0o700);
  } catch (cause) {
    throw new Failure('disk', `${home}: cannot be made a private folder of this user`, { cause });
  }
  return { path: socketPath(home, 'redis.sock') };
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
  /** Lets the server save and end, and kills it if it does not. Resolves when it is gone. */
  stop(): Promise<void>;
};

/** Starts a server on `socket` alone, with its append-only file in `home`. It is not ready yet. */
function spawnRedis(binary: string, home: string, socket: string): RedisProcess {
  const settings = [
    ['--port', '0'],
    ['--unixsocket', socket, '--unixsocketperm', '700'],
    ['--dir', home, '--appendonly', 'yes', '--appendfsync', 'everysec', '--save', ''],
    ['--maxmemory-policy', 'noeviction'],
    ['--daemonize', 'no', '--pidfile', pidFile(home), '--logfile', '', '--loglevel', 'warning'],
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

/** The process of the server in `home`, if it lives. */
function serverPid(home: string): number | null {
  try {
    const pid = Number.parseInt(readFileSync(pidFile(home), 'utf8'), 10);
    return isAlive(pid) ? pid : null;
  } catch {
    return null;
  }
}

function occupied(path: string, pid: number | null): Failure {
  const [process, it] = pid === null ? ['', 'that one'] : [`, process ${pid},`, `it (kill -9 ${pid})`];
  return new Failure(
    'incomplete',
    `${path}: another Redis${process} still serves it, left by a daemon that was killed: end ${it}, then start again`,
  );
}

/** Whether the server cannot read its file. A full disk damages nothing. */
function isDamaged(lastLine: string): boolean {
  return /append only file|\bAOF\b|\bRDB\b/.test(lastLine) && !/No space left|quota exceeded/.test(lastLine);
}

/** Sets a damaged file aside: Redis holds nothing that cannot be lost. */
function setAside(home: string, log: Log): void {
  for (const file of ['appendonlydir', 'appendonly.aof'].map((name) => join(home, name)))
    if (existsSync(file)) {
      rmSync(`${file}.damaged`, { recursive: true, force: true });
      renameSync(file, `${file}.damaged`);
      log.warn({ redis: file }, 'the private Redis could not read its file: set aside as .damaged');
    }
}

/** `ready`: a Redis takes commands. `busy`: a process listens, but takes no commands yet. `nobody`: no process listens. */
type Ping = 'ready' | 'busy' | 'nobody';

export function ping(socket: string): Promise<Ping> {
  return new Promise((resolve) => {
    const connection = connect({ path: socket });
    const found = (result: Ping) => {
      connection.destroy();
      resolve(result);
    };
    let text = '';
    connection.setTimeout(PING_MS, () => found('busy'));
    connection.once('connect', () => connection.write('PING\r\n'));
    connection.on('data', (data) => {
      text += data;
      if (text.includes('\n')) found(text.startsWith('+PONG') ? 'ready' : 'busy');
    });
    connection.once('end', () => found('busy'));
    connection.once('error', (error: NodeJS.ErrnoException) =>
      found(error.code === 'ECONNREFUSED' || error.code === 'ENOENT' ? 'nobody' : 'busy'),
    );
  });
}
