/** The servers that are compared, each in a process of its own, and load on them by autocannon: how many answers came, how long each took, what they cost. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import { freePort } from '../../test/helpers/loopback.ts';
import { cli } from '../passes.ts';

type Request = { path: string; key: string };

/** `duration` in seconds, or an `amount` of requests. */
type LoadOptions = { connections: number; duration?: number; amount?: number };

type Load = {
  perSecond: number;
  /** Of each answer, in milliseconds, the shortest first. */
  took: Float64Array;
  /** Processor time of the server an answer, in milliseconds. */
  cpuMs: number;
};

/** @param next makes each request. @throws Error if a response had another status than `status`. */
export async function load(
  server: Server,
  options: LoadOptions,
  status: '2xx' | '3xx',
  next: () => Request,
): Promise<Load> {
  const took: number[] = [];
  const cpuBefore = server.cpuMs();
  const running = autocannon({
    url: server.url,
    ...options,
    requests: [
      {
        setupRequest(request) {
          const { path, key } = next();
          return { ...request, path, headers: { authorization: `Bearer ${key}` } };
        },
      },
    ],
  });
  running.on('response', (_client, _status, _bytes, ms: number) => took.push(ms));
  const result = await running;
  const cpuMs = server.cpuMs() - cpuBefore;
  const other = result.requests.total - result[status] + result.errors + result.timeouts;
  if (other > 0) throw new Error(`${other} of ${result.requests.total} answers were no ${status}`);
  return {
    perSecond: result.requests.total / result.duration,
    took: Float64Array.from(took).sort(),
    cpuMs: cpuMs / result.requests.total,
  };
}

/** @param share such as 0.99. */
export function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** One after the other, far apart, the same in every run. */
export function distinctOffsets(from: number, to: number): () => number {
  const span = Math.max(1, Math.floor(to - from));
  let at = 0;
  return () => {
    // A step that shares no divisor with most spans comes to every place before it comes to one again.
    at = (at + 7_368_787) % span;
    return Math.floor(from) + at;
  };
}

export type Server = {
  url: string;
  /** Processor time that it and its processes have used, user and system. */
  cpuMs(): number;
  /** Memory that they have. */
  residentMb(): number;
  end(): Promise<void>;
};

/** `market-mirror serve` as an operator runs it: what `npm run build` made, its log in a file. @param settings besides. */
export async function startServe(folder: string, settings: Record<string, string> = {}): Promise<Server> {
  const port = await freePort();
  const child = spawn(process.execPath, [cli(), 'serve', '--port', String(port)], {
    env: { PATH: process.env['PATH'], MIRROR_DIR: folder, ...settings },
    cwd: folder,
    stdio: ['ignore', 'ignore', openSync(join(folder, 'serve.log'), 'a')],
  });
  return await ready(child, port);
}

/** `node:http` alone with the bytes of a file, see `bare-server.ts`. */
export async function startBare(file: string): Promise<Server> {
  const port = await freePort();
  const script = fileURLToPath(new URL('bare-server.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', script, String(port), file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return await ready(child, port);
}

async function ready(child: ChildProcess, port: number): Promise<Server> {
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    const answer = await fetch(`${url}/healthz`).catch(() => undefined);
    if (answer?.ok) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const sum = (of: (pid: number) => number) =>
    processesOf(child.pid ?? 0).reduce((total, pid) => total + of(pid), 0);
  return {
    url,
    cpuMs: () => sum(cpuMsOf),
    residentMb: () => sum((pid) => Number(/VmRSS:\s+(\d+)/.exec(read(pid, 'status'))?.[1] ?? 0)) / 1_024,
    async end() {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
}

/** Nothing of a process that has ended meanwhile. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** A process and all that it has started. */
function processesOf(pid: number): number[] {
  const children = read(pid, `task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return [pid, ...children.flatMap(processesOf)];
}

/** With its children that have ended. proc(5): after the name, in hundredths of a second. */
function cpuMsOf(pid: number): number {
  const times = read(pid, 'stat')
    .replace(/^.*\) /, '')
    .split(' ')
    .slice(11, 15)
    .map(Number);
  return times.reduce((total, time) => total + time, 0) * 10;
}
