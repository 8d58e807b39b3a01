/** Passes over an API of any size: the API and each pass run in a process of their own, so that none disturbs another. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { loadJobs } from '../src/job/load.ts';
import { openStore } from '../src/store.ts';
import { built } from '../test/helpers/built.ts';
import type { Figures } from './passes/gauge.ts';
import type { LargeApi } from './passes/large-api.ts';

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
  const measured = await measureNode([await program('bare-loop'), dataset, url, folder, String(inFlight)]);
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

type Measured = Figures & { seconds: number; stdout: string };

/** Runs a program of Node.js, measured from within, too. @throws what it said where it failed. */
async function measureNode(args: readonly string[], environment = {}): Promise<Measured> {
  const gauge = await program('gauge');
  return await withFolder(async (folder) => {
    const file = join(folder, 'figures.json');
    const env = { PATH: process.env['PATH'], HOME: folder, LAB_FIGURES: file, ...environment };
    const began = performance.now();
    const child = spawn(process.execPath, ['--import', gauge, ...args], { env, cwd: folder });
    const ended = once(child, 'exit');
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const [code, signal] = await ended;
    const seconds = (performance.now() - began) / 1_000;
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code ?? signal}: ${stderr}${stdout}`);
    return { seconds, stdout, ...(JSON.parse(readFileSync(file, 'utf8')) as Figures) };
  });
}

const compiled = ['gauge', 'bare-loop', 'large-api'] as const;
type Program = (typeof compiled)[number];

const folder = fileURLToPath(new URL('../dist/lab/', import.meta.url));
let made: Promise<unknown> | undefined;

/** The file of a program of this folder. */
async function program(name: Program): Promise<string> {
  made ??= build({
    entryPoints: compiled.map((each) => fileURLToPath(new URL(`passes/${each}.ts`, import.meta.url))),
    outdir: folder,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    logLevel: 'warning',
  });
  await made;
  return `${folder}${name}.js`;
}

/** The program that users run, as `npm run build` made it. */
export const cli = () => fileURLToPath(built('src/cli.js'));

/** The folder of a mirror of so many rows each of `ai-signals` and `news`. */
export async function withMirror<T>(rows: number, use: (folder: string) => Promise<T>): Promise<T> {
  const learnt = await withLargeApi(10_000, learnApi);
  return await withLargeApi(rows, (api) =>
    withFolder(async (folder) => {
      for (const job of ['ai-signals', 'news']) await measurePass(job, api, folder, learnt);
      return await use(folder);
    }),
  );
}
