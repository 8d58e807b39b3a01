/** The service over a mirror of the model API: real HTTP on loopback, keys of its own, and time that a test moves. */

import { createServer } from 'node:http';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { logOptions } from '../../src/base/log.ts';
import { readSchedules } from '../../src/config.ts';
import { ownSchedules } from '../../src/job/list.ts';
import { type Job, listed } from '../../src/job.ts';
import { type ServedProcess, startServedProcess } from '../../src/reading/query.ts';
import { type Issued, type KeyTerms, openKeyring } from '../../src/serve/access/keyring.ts';
import type { Limits } from '../../src/serve/access/limits.ts';
import { openService, type Service, type ServiceParts } from '../../src/serve.ts';
import { type Listening, listenOnLoopback } from './loopback.ts';
import { type Bench, type BenchOptions, openBench } from './mirror-bench.ts';

export const listNames = ['ai-signals', 'news', 'smart-wallets', 'meme-signals'] as const;

/** Every scope that a dataset has. */
export const allScopes = ['news:read', 'smart-wallets:read', 'meme:read', 'ai-signals:read'];

export type ServeBench = {
  bench: Bench;
  service: Service;
  /** Without a slash at its end. */
  url: string;
  /** All that has been logged. */
  log(): string;
  issue(terms?: Partial<KeyTerms>, limits?: Partial<Limits>): Issued;
  revoke(id: string): void;
  close(): Promise<void>;
};

/** All lists are walked before the service opens, unless `walked` is given. */
export type ServeBenchOptions = BenchOptions &
  Partial<
    Pick<ServiceParts, 'beforeAnswer' | 'requestId' | 'pageFolder' | 'questionMs' | 'pool' | 'onLost'>
  > & {
    settings?: Partial<ServiceParts['settings']>;
  };

export const quietSettings: ServiceParts['settings'] = {
  host: '127.0.0.1',
  hosts: [],
  trusted: [],
  maxAgeMs: {},
  query: false,
  page: 'off',
  schedules: {},
};

/** Query processes that no service needs now: a start takes longer than most tests. */
const idle = { served: [] as ServedProcess[], quick: [] as ServedProcess[] };

function lentProcess(task: keyof typeof idle): ServedProcess {
  const process = idle[task].pop() ?? startServedProcess(task);
  let hasEnded = false;
  return {
    ...process,
    isFree: () => !hasEnded && process.isFree(),
    end() {
      if (hasEnded) return;
      hasEnded = true;
      if (process.isFree()) idle[task].push(process);
      else process.end();
    },
  };
}

/** A service that listens; `close` closes both. */
export async function serveOnLoopback(parts: ServiceParts): Promise<Listening & { service: Service }> {
  const service = openService({ startProcess: lentProcess, ...parts });
  // A connection that a test left for five seconds, on a busy machine, is not closed while its next request is under way.
  const listening = await listenOnLoopback(createServer({ keepAliveTimeout: 120_000 }, service.handle));
  return {
    ...listening,
    service,
    async close() {
      await listening.close();
      await service.close();
    },
  };
}

/** A service over a mirror that is there, which logs nothing, with a key of every scope. Close it when done. */
export async function serveMirror(dir: string, jobs: readonly Job[], clock: Clock, limits?: Partial<Limits>) {
  const { url, close } = await serveOnLoopback({
    dir,
    jobs: jobs.map(listed),
    settings: { ...quietSettings, schedules: readSchedules({}, ownSchedules(jobs)) },
    clock,
    log: pino({ enabled: false }),
  });
  const keyring = openKeyring(dir);
  const terms = { name: 'desk', account: 'desk', scopes: allScopes, addresses: null, expiresAt: null };
  const { key } = keyring.create(terms, limits, clock.now());
  keyring.close();
  return { url, key, close };
}

export async function openServeBench({
  settings,
  walked = listNames,
  beforeAnswer,
  requestId,
  pageFolder,
  questionMs,
  pool,
  onLost,
  ...options
}: ServeBenchOptions = {}): Promise<ServeBench> {
  const bench = await openBench({ ...options, walked });
  const lines: string[] = [];
  const { dir, clock } = bench;
  const { service, url, close } = await serveOnLoopback({
    dir,
    jobs: bench.jobs.map(listed),
    settings: { ...quietSettings, schedules: readSchedules({}, ownSchedules(bench.jobs)), ...settings },
    // Queries take their time in processes of their own, which know nothing of the bench's clock.
    clock: { ...clock, after: systemClock.after },
    log: pino(logOptions('trace'), { write: (line: string) => void lines.push(line) }),
    ...(beforeAnswer && { beforeAnswer }),
    ...(requestId && { requestId }),
    ...(pageFolder && { pageFolder }),
    ...(questionMs && { questionMs }),
    ...(pool && { pool }),
    ...(onLost && { onLost }),
  });
  const keyring = openKeyring(dir);
  return {
    bench,
    service,
    url,
    log: () => lines.join(''),
    issue({ name = 'desk', account = name, ...terms } = {}, limits) {
      const all = { name, account, scopes: allScopes, addresses: null, expiresAt: null, ...terms };
      return keyring.create(all, limits, clock.now());
    },
    revoke: (id) => void keyring.revoke(id, clock.now()),
    async close() {
      await close();
      keyring.close();
      await bench.close();
    },
  };
}

/** The same for one test, closed when that ends. */
export async function setupServe(options: ServeBenchOptions = {}): Promise<ServeBench> {
  const bench = await openServeBench(options);
  onTestFinished(bench.close);
  return bench;
}
