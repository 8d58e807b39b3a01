import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import pino from 'pino';
import { onTestFailed, onTestFinished } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Log } from '../../src/base/log.ts';
import { type QueueOptions, startQueue } from '../../src/queue.ts';
import { temporaryFolder } from '../helpers/folder.ts';
import { freePort } from '../helpers/loopback.ts';

export const HOUR = 3_600_000;

export type Line = {
  level: number;
  msg: string;
  job?: string;
  reason?: string;
  err?: string;
  stack?: string;
  errors?: number;
};

/** A real pino logger that keeps its lines. */
export function recordingLog(): { log: Log; lines: Line[]; said(msg: RegExp): Line[] } {
  const lines: Line[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { log, lines, said: (msg) => lines.filter((line) => msg.test(line.msg)) };
}

/** Resolves with the first value of `read` that is not false, null or undefined. */
export async function until<T>(
  what: string,
  read: () => T | Promise<T>,
  withinMs = 110_000,
): Promise<T & {}> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const value = await read();
    if (value !== false && value !== null && value !== undefined) return value;
    if (Date.now() > deadline) throw new Error(`waited ${withinMs} ms for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** False for a process that has ended, also while nobody has collected it yet. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

export type Server = {
  port: number;
  url: string;
  /** Where it keeps its files. */
  dir: string;
  client: Redis;
  signal(name: NodeJS.Signals): void;
  kill(): Promise<void>;
  start(): Promise<void>;
};

/** A Redis of the user's, over TCP, that can be killed and started again with its data. */
export async function redisServer({ password = '', port: wanted = 0, tries = 3 } = {}): Promise<Server> {
  const dir = temporaryFolder();
  const port = wanted || (await freePort());
  const login = password === '' ? [] : ['--requirepass', password];
  const settings = [
    ...['--port', `${port}`, '--bind', '127.0.0.1', '--dir', dir, '--appendonly', 'yes', '--save', ''],
    // A write waits while the file is synced elsewhere, for up to two seconds; who is killed meanwhile would lose it.
    ...['--appendfsync', 'no'],
  ];
  const client = new Redis({
    port,
    password,
    lazyConnect: true,
    retryStrategy: () => 20,
    // However long it takes to start.
    maxRetriesPerRequest: null,
  });
  client.on('error', () => {});
  let child: ReturnType<typeof spawn> | undefined;
  const server: Server = {
    port,
    url: `redis://${password && `:${password}@`}127.0.0.1:${port}`,
    dir,
    client,
    signal: (name) => void child?.kill(name),
    async start() {
      const started = spawn('redis-server', [...settings, '--maxmemory-policy', 'noeviction', ...login], {
        stdio: 'ignore',
      });
      child = started;
      const ended = once(started, 'exit').then(() => 'no answer: it has ended');
      const answer = await Promise.race([client.info('server'), ended]);
      // The Redis of another test may have the port.
      if (!answer.includes(`process_id:${started.pid}\r\n`)) throw new Error(`port ${port}: ${answer}`);
    },
    async kill() {
      const killed = child;
      if (!killed || killed.exitCode !== null || killed.signalCode !== null) return;
      await new Promise((resolve) => killed.once('exit', resolve).kill('SIGKILL'));
    },
  };
  onTestFinished(async () => {
    client.disconnect();
    await server.kill();
  });
  try {
    await server.start();
    return server;
  } catch (thrown) {
    if (wanted !== 0 || tries === 1) throw thrown;
    return await redisServer({ password, tries: tries - 1 });
  }
}

/** A queue with a log of its own, closed when the test ends. Unless given, nothing is due for an hour; the timer looks often. */
export function start(options: Partial<QueueOptions> & Pick<QueueOptions, 'redis' | 'run'>) {
  const recording = recordingLog();
  const startedAt = Date.now();
  let ahead = 0;
  const queue = startQueue({
    prefix: 'market-mirror',
    schedules: { news: { every: HOUR } },
    lastRun: () => startedAt,
    log: recording.log,
    clock: { ...systemClock, now: () => Date.now() + ahead },
    ...options,
    timing: { look: 50, ...options.timing },
  });
  onTestFailed(() => void process.stderr.write(`${JSON.stringify(recording.lines)}\n`));
  onTestFinished(queue.close);
  const setClock = (by: number) => {
    ahead = by;
  };
  return { ...queue, ...recording, setClock };
}

/** The same on a Redis of its own, unless given, with the names of the runs as they begin. */
export async function running(options: Partial<QueueOptions> = {}, given?: Server) {
  const server = given ?? (await redisServer());
  const runs: string[] = [];
  const run: QueueOptions['run'] = async (job, signal) => {
    runs.push(job);
    await options.run?.(job, signal);
  };
  const queue = start({ redis: { url: server.url }, ...options, run });
  return { ...queue, server, runs, jobs: jobsIn(server, options.prefix) };
}

/** The jobs of the datasets, as a dashboard sees them. */
export function jobsIn({ url }: Pick<Server, 'url'>, prefix = 'market-mirror'): Queue {
  const queue = new Queue('datasets', { connection: { url }, prefix });
  queue.on('error', () => {});
  onTestFinished(() => queue.close());
  return queue;
}

/** Resolves when the signal is aborted, as a walk does at its next page boundary: by throwing the reason. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  );
}
