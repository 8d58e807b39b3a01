/** `market-mirror sync` against a model API, and what it leaves in the mirror. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type ModelApi, type ModelOptions, scopes, startModelApi } from '../../model-api/index.ts';
import { Database } from '../../src/store/sqlite.ts';
import { cached } from './cached.ts';
import { layEmptyMirror } from './empty-mirror.ts';
import { memoryFolder } from './folder.ts';
import { runMain } from './main.ts';
import { virtualClock } from './virtual-clock.ts';

export const CANARY = 'canary-key-93ab7e';

export async function setupSync(options: ModelOptions = {}, clock = virtualClock()) {
  const cwd = memoryFolder('mm-sync-');
  const keys = [{ id: 'test', key: CANARY, scopes: [...scopes], active: true }];
  const model = await startModelApi({ rows: 130, keys, now: clock.now, ...options });
  onTestFinished(() => model.close());
  const environment = { MARKET_API_URL: model.url, MARKET_API_KEY: CANARY, MIRROR_DIR: join(cwd, 'data') };
  const run = (args: string[], changes: Record<string, string> = {}) =>
    runMain(args, { ...environment, ...changes }, clock);
  const sync = async (...args: string[]) => {
    if (!existsSync(environment.MIRROR_DIR)) await layEmptyMirror(environment.MIRROR_DIR);
    const ended = await run(['sync', ...args]);
    expect(ended.stdout + ended.stderr).not.toContain(CANARY);
    return ended;
  };
  return {
    cwd,
    clock,
    run,
    model,
    key: model.keys[0] as ModelApi['keys'][number],
    environment,
    sync,
    file: join(cwd, 'data/mirror.db'),
  };
}

/** A mirror, and the time of its clock, to go on from. */
export type MirrorCopy = {
  rows: number;
  files: readonly (readonly [name: string, content: Buffer])[];
  now: number;
};

/** Of a mirror that nobody has open. */
export function copyMirror(bench: Awaited<ReturnType<typeof setupSync>>, rows: number): MirrorCopy {
  const names = ['mirror.db', 'mirror.id'];
  const files = names.map((name) => [name, readFileSync(join(bench.environment.MIRROR_DIR, name))] as const);
  return { rows, files, now: bench.clock.now() };
}

export async function setupCopy({ rows, files, now }: MirrorCopy) {
  const bench = await setupSync({ rows }, virtualClock(now));
  const dir = bench.environment.MIRROR_DIR;
  mkdirSync(dir, { mode: 0o700 });
  for (const [name, content] of files) writeFileSync(join(dir, name), content, { mode: 0o600 });
  return bench;
}

/** A bench whose mirror has everything: copied from one that was mirrored once, which takes a tenth of the time. */
export async function setupSynced(rows: number) {
  return await setupCopy(await syncedMirror(rows));
}

const syncedMirror = cached(async (rows: number) => {
  const bench = await setupSync({ rows });
  expect((await bench.sync()).code).toBe(0);
  return copyMirror(bench, rows);
});

export function read<Row>(file: string, sql: string): Row[] {
  const db = new Database(file, { readonly: true });
  try {
    return db.prepare<[], Row>(sql).all();
  } finally {
    db.close();
  }
}

export const idsOf = (file: string, table = 'ai_signals') =>
  read<{ _key: string }>(file, `SELECT _key FROM ${table} ORDER BY _key`).map((row) => row._key);
export const truth = (model: ModelApi) => model.data.aiSignals.rows.map((row) => String(row['id'])).sort();
