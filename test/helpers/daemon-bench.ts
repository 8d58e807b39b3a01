/** A daemon of the built program, on a model API of its own, in a folder that goes when the test ends. */

import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type ModelOptions, scopes, startModelApi } from '../../model-api/index.ts';
import type { Status } from '../../src/reading/status.ts';
import { Database } from '../../src/store/sqlite.ts';
import { startCli } from './cli.ts';
import { temporaryFolder } from './folder.ts';
import { runMain } from './main.ts';
import { sharedClock } from './virtual-clock.ts';

/** For a poll that asks more than a word. */
export const sparingly = { interval: 200 };

export const CANARY = 'canary-key-7c21f0';

export async function setup(options: ModelOptions = {}, settings: Record<string, string> = {}) {
  const cwd = temporaryFolder('mm-start-');
  const model = await startModelApi({ rows: 130, keys: [{ id: 'test', key: CANARY, scopes }], ...options });
  onTestFinished(() => model.close());
  const environment = { MARKET_API_URL: model.url, MARKET_API_KEY: CANARY, ...settings };
  const start = () => startCli(['start'], environment, cwd);
  /** Another command on the folder, within this process: a process of its own takes longer to start than to tell anything. */
  const run = (...args: string[]) =>
    runMain(args, { ...environment, MIRROR_DIR: join(cwd, 'data') }, sharedClock());
  const status = async (): Promise<{ code: number | null; status: Partial<Status> }> => {
    const { code, stdout } = await run('status', '--json');
    return { code, status: stdout === '' ? {} : JSON.parse(stdout) };
  };
  const file = join(cwd, 'data/mirror.db');
  return { cwd, model, environment, start, run, status, file, complete: () => completeJobs(file) };
}

/** Jobs with a proven walk. */
function completeJobs(file: string): number {
  try {
    const db = new Database(file, { readonly: true, fileMustExist: true });
    try {
      return (
        db
          .prepare<[], number>('SELECT count(*) FROM freshness WHERE complete_as_of IS NOT NULL')
          .pluck()
          .get() ?? 0
      );
    } finally {
      db.close();
    }
  } catch {
    return 0;
  }
}

/** Pids of the Redis servers that run on this folder. */
export function redisServers(cwd: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return (
          /redis-server|valkey-server/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8')) &&
          readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(cwd)
        );
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** What the daemon's socket answers. */
export async function get(socketPath: string, path: string) {
  return await new Promise<{ code: number | undefined; body: unknown }>((resolve, reject) => {
    request({ socketPath, path }, async (response) => {
      resolve({
        code: response.statusCode,
        body: JSON.parse(Buffer.concat(await response.toArray()).toString()),
      });
    })
      .on('error', reject)
      .end();
  });
}
