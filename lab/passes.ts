/** Passes over an API of any size: the API and each pass run in a process of their own, so that none disturbs another. */

import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Database } from '../src/store/db/sqlite.ts';
import type { Pass } from './passes/one-pass.ts';

export type { Pass } from './passes/one-pass.ts';

/** Serves so many rows while it is used. A GET of `/publish` publishes them again, unchanged. */
export async function withLargeApi<T>(rows: number, use: (url: string) => Promise<T>): Promise<T> {
  const server = spawn(process.execPath, script('large-api.ts', String(rows)), {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = (await once(server.stdout, 'data')) as [Buffer];
    return await use(line.toString().trim());
  } finally {
    server.kill();
  }
}

/**
 * @param what the job, or `ceiling`: the barest loop over the AI signals.
 * @param learnt the state of a governor that knows the API; without it the governor has to learn.
 */
export function measurePass(what: string, url: string, folder: string, learnt = ''): Pass {
  const child = spawnSync(process.execPath, script('one-pass.ts', what, url, folder, learnt), {
    encoding: 'utf8',
  });
  if (child.status !== 0) throw new Error(child.stderr);
  return JSON.parse(child.stdout) as Pass;
}

/** The same, while others go on in this process. */
export async function passBeside(what: string, url: string, folder: string, learnt: string): Promise<Pass> {
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, script('one-pass.ts', what, url, folder, learnt));
  return JSON.parse(stdout) as Pass;
}

/** What the governor learns of a new API; `npm run simulate` measures how long that takes it. */
export async function learnApi(url: string): Promise<string> {
  return await withFolder((folder) => {
    measurePass('ai-signals', url, folder);
    const db = new Database(join(folder, 'mirror.db'), { readonly: true });
    const state = db.prepare<[], string>('SELECT state FROM governor').pluck().get();
    db.close();
    if (!state) throw new Error('the governor kept no state');
    return state;
  });
}

export async function withFolder<T>(use: (folder: string) => T | Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'market-mirror-lab-'));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function script(name: string, ...args: string[]): string[] {
  return ['--import', 'tsx', fileURLToPath(new URL(`passes/${name}`, import.meta.url)), ...args];
}
