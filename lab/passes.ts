/** Passes over an API of any size: the API and each pass run in a process of their own, so that none disturbs another. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadJobs } from '../src/load-jobs.ts';
import { openStore } from '../src/store.ts';
import type { LargeApi } from './passes/large-api.ts';
import { type Measured, measure, measureNode } from './passes/measured.ts';
import { cli, program, python } from './passes/programs.ts';

/** A pass from the start of its process to the end. */
export type Pass = Omit<Measured, 'stdout'> & { rows: number; rowsPerSecond: number };

/** A pass of the mirror, with what it came to. */
export type MirrorPass = Pass & { verdict: string | null; changed: number };

/** Serves so many rows while it is used. A GET of `/publish` publishes them again: see `large-api.ts`. */
export async function withLargeApi<T>(api: LargeApi | number, use: (url: string) => Promise<T>): Promise<T> {
  const asked: LargeApi = typeof api === 'number' ? { rows: api } : api;
  const server = spawn(process.execPath, [await program('large-api'), JSON.stringify(asked)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = (await once(server.stdout, 'data')) as [Buffer];
    return await use(line.toString().trim());
  } finally {
    server.kill();
  }
}

/** `sync` of a job. @param learnt the state of a governor that knows the API; without it, it knows what the folder holds. */
export async function measurePass(
  job: string,
  url: string,
  folder: string,
  learnt?: string,
): Promise<MirrorPass> {
  if (learnt) await teach(folder, learnt);
  const environment = { MARKET_API_URL: url, MARKET_API_KEY: 'lab', MIRROR_DIR: folder };
  const { stdout, ...measured } = await measureNode([cli(), 'sync', job, '--json'], environment);
  const [{ walk }] = JSON.parse(stdout) as [
    { walk: { rows: number; verdict: string | null; inserted: number; updated: number } },
  ];
  const { rows, verdict, inserted, updated } = walk;
  return { ...pass(measured, rows), verdict, changed: inserted + updated };
}

/** The barest loop over a dataset, with so many calls in flight. */
export async function measureBareLoop(
  dataset: string,
  url: string,
  folder: string,
  inFlight = 1,
): Promise<Pass> {
  return counted(await measureNode([await program('bare-loop'), dataset, url, folder, String(inFlight)]));
}

/** The script that one writes first, over the AI signals. */
export async function measureNaive(url: string, folder: string): Promise<Pass> {
  return counted(await measureNode([await program('naive'), url, folder]));
}

/** The bare loop by Python's standard library. */
export async function measurePython(url: string, folder: string, rows: number): Promise<Pass> {
  return pass(await measure(['python3', python, url, folder]), rows);
}

/** The same reader, handing its rows to the command `sqlite-utils`. */
export async function measureSqliteUtils(url: string, folder: string, rows: number): Promise<Pass> {
  const upsert = `sqlite-utils upsert ${folder}/sqlite-utils.db ai_signals - --pk id --nl`;
  const figures = `echo '{"peakMb":null,"longestStallMs":null,"writtenBytes":null}' > "$LAB_FIGURES"`;
  return pass(
    await measure(['bash', '-c', `python3 ${python} ${url} ${folder} --lines | ${upsert} && ${figures}`]),
    rows,
  );
}

function counted(measured: Measured): Pass {
  return pass(measured, (JSON.parse(measured.stdout) as { rows: number }).rows);
}

function pass(
  { seconds, peakMb, longestStallMs, writtenBytes }: Omit<Measured, 'stdout'>,
  rows: number,
): Pass {
  return { seconds, peakMb, longestStallMs, writtenBytes, rows, rowsPerSecond: rows / seconds };
}

/** What the governor has learnt of an API by the end of so many passes over all that it serves. */
export async function learnApi(url: string, passes = 1): Promise<string> {
  return await withFolder(async (folder) => {
    for (let made = 0; made < passes; made += 1) {
      await fetch(`${url}/publish`);
      await measurePass('ai-signals', url, folder);
    }
    const store = openStore(folder, await loadJobs(), Date.now);
    const state = store.governor.transact((state) => ({ state, result: state }));
    store.close();
    return JSON.stringify(state);
  });
}

/** Gives the governor of a folder what was learnt elsewhere. */
async function teach(folder: string, learnt: string): Promise<void> {
  const store = openStore(folder, await loadJobs(), Date.now);
  store.governor.transact(() => ({ state: JSON.parse(learnt), result: undefined }));
  store.close();
}

export async function withFolder<T>(use: (folder: string) => T | Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'market-mirror-lab-'));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
