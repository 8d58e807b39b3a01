/** What is measured of passes: each line makes its own API and its own mirrors, and is a row of one table: medians, ratios to the bare loop, targets. */

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { number } from '../../src/output/numbers.ts';
import { atLeast, atMost, median, targetHeads } from '../figures.ts';
import {
  learnApi,
  type MirrorPass,
  measureBareLoop,
  measurePass,
  type Pass,
  withFolder,
  withLargeApi,
} from '../passes.ts';

type Size = { rows: number; runs: number };
export type Line = {
  about: string;
  measure(size: Size): Promise<{ rows: string[][]; stallMs?: number }>;
};
type LineName = keyof typeof lines;

const JOB = 'ai-signals';
/** Rows of 1,120 bytes in the database of the mirror, as those that the first figures were of. */
const TEXTS = 5;
const LATENCY_MS = 50;
const IN_FLIGHT = 4;
/** The governor has learnt how many calls may be under way by the end of so many passes. */
const PASSES_TO_LEARN = 4;

export const lines = {
  first: {
    about: 'a first mirror of ai-signals, the governor knows the API; what it writes',
    async measure({ rows, runs }) {
      const sizes: number[] = [];
      const taken = await withLargeApi({ rows, texts: TEXTS }, async (url) => {
        const learnt = await learnApi(url);
        return await inTurn(runs, async (folder, isBare) => {
          if (isBare) return await measureBareLoop(JOB, url, folder);
          const pass = await measurePass(JOB, url, folder, learnt);
          sizes.push(statSync(join(folder, 'mirror.db')).size);
          return expectChanges(pass, rows);
        });
      });
      const growth = median(taken.map(({ other }, run) => other.writtenBytes / (sizes[run] ?? 0)));
      return {
        rows: [
          speedRow('first mirror, governor taught', taken, 1),
          figureRow('bytes it writes ÷ size of the database', growth, 8, 1),
        ],
        stallMs: longestStall(taken),
      };
    },
  },
  aged: {
    about: 'a later pass: only volatile columns moved, the upstream order shuffled',
    async measure(size) {
      const taken = await again(JOB, '/publish?aged', size);
      return {
        rows: [
          speedRow('aged pass, upstream shuffled', taken, 1),
          figureRow('bytes a row that it writes', bytesARow(taken), 200),
        ],
        stallMs: longestStall(taken),
      };
    },
  },
  unchanged: {
    about: 'a later pass of ai-signals, published again unchanged',
    async measure(size) {
      const taken = await again(JOB, '/publish', size);
      return { rows: [speedRow('unchanged pass', taken, 0.85)], stallMs: longestStall(taken) };
    },
  },
  news: {
    about: 'a later pass of news, unchanged; its rows are kept as received',
    async measure(size) {
      const taken = await again('news', '/publish', size);
      return { rows: [speedRow('unchanged pass of news', taken, 0.6)], stallMs: longestStall(taken) };
    },
  },
  latency: {
    about: `a first mirror of a fifth of the rows, ${LATENCY_MS} ms a call, ${IN_FLIGHT} allowed under way; the loop has ${IN_FLIGHT} under way`,
    async measure({ rows, runs }) {
      const api = { rows: Math.round(rows / 5), texts: TEXTS, latencyMs: LATENCY_MS, atOnce: IN_FLIGHT };
      const taken = await withLargeApi(api, async (url) => {
        const learnt = await learnApi(url, PASSES_TO_LEARN);
        return await inTurn(runs, (folder, isBare) =>
          isBare ? measureBareLoop(JOB, url, folder, IN_FLIGHT) : measurePass(JOB, url, folder, learnt),
        );
      });
      return { rows: [speedRow(`${LATENCY_MS} ms a call, ${number(rows / 5)} rows`, taken, 0.9)] };
    },
  },
  memory: {
    about: 'peak memory of a first mirror of ten times the rows, against a tenth of them',
    async measure({ rows, runs }) {
      const few = Math.min(runs, 3);
      const [small, large] = [await peakOf(Math.round(rows / 10), few), await peakOf(rows * 10, few)];
      const name = `peak MB at ${number(rows * 10)} rows (${large.toFixed(0)}) less that at ${number(rows / 10)}`;
      return { rows: [figureRow(name, large - small, 80)] };
    },
  },
} satisfies Record<string, Line>;

export const lineNames = Object.keys(lines) as LineName[];

/** What `serve.ts` measures. */
export const serveTables = ['pages', 'beside', 'idle'] as const;
export type ServeTable = (typeof serveTables)[number];

/** Runs the bare loop and the other side in turn, each in a folder of its own; who comes first changes from run to run. */
async function inTurn(
  runs: number,
  measure: (folder: string, isBare: boolean) => Promise<Pass>,
): Promise<Run[]> {
  const taken: Run[] = [];
  for (let run = 0; run < runs; run += 1) {
    const once = (isBare: boolean) => withFolder((folder) => measure(folder, isBare));
    taken.push(await bothSides(run, once));
  }
  return taken;
}

/** Later passes over what both sides hold already; before each the API publishes by a GET of `change`. */
async function again(job: string, change: string, { rows, runs }: Size): Promise<Run[]> {
  return await withLargeApi({ rows, texts: TEXTS }, (url) =>
    withFolder(async (folder) => {
      const learnt = await learnApi(url);
      await measureBareLoop(job, url, folder);
      await measurePass(job, url, folder, learnt);
      const taken: Run[] = [];
      for (let run = 0; run < runs; run += 1) {
        await fetch(url + change);
        const pass = await bothSides(run, async (isBare) =>
          isBare
            ? await measureBareLoop(job, url, folder)
            : expectChanges(await measurePass(job, url, folder), 0),
        );
        taken.push(pass);
      }
      return taken;
    }),
  );
}

async function bothSides(run: number, measure: (isBare: boolean) => Promise<Pass>): Promise<Run> {
  const first = await measure(run % 2 === 0);
  const second = await measure(run % 2 !== 0);
  return run % 2 === 0 ? { bare: first, other: second } : { bare: second, other: first };
}

function expectChanges(pass: MirrorPass, changed: number): MirrorPass {
  if (pass.changed === changed && pass.verdict !== 'union') return pass;
  throw new Error(`not the pass that was to be measured: ${JSON.stringify(pass)}`);
}

async function peakOf(rows: number, runs: number): Promise<number> {
  return await withLargeApi({ rows, texts: TEXTS }, async (url) => {
    const peaks: number[] = [];
    for (let run = 0; run < runs; run += 1)
      peaks.push((await withFolder((folder) => measurePass(JOB, url, folder))).peakMb);
    return median(peaks);
  });
}

/** One run of the bare loop beside one of what is measured. */
type Run = { bare: Pass; other: Pass };

export const heads = [
  ...['', 'bare loop s', 's', 'ratio', ...targetHeads],
  ...['bare MB', 'MB', 'bytes a row', 'stall ms', 'peak MB'],
];

/** Under the heads, in Markdown. */
export const rule = heads.map((_, at) => (at === 0 ? '---' : '--:'));

const LONGEST_STALL_MS = 50;

/** @param least the target of the ratio. */
function speedRow(name: string, runs: readonly Run[], least: number): string[] {
  const of = (side: keyof Run, figure: (pass: Pass) => number | null) =>
    median(runs.map((run) => figure(run[side]) ?? Number.NaN));
  const seconds = (pass: Pass) => pass.seconds;
  const written = ({ writtenBytes }: Pass) => writtenBytes / 1e6;
  const ratio = median(runs.map(({ bare, other }) => other.rowsPerSecond / bare.rowsPerSecond));
  return [
    name,
    of('bare', seconds).toFixed(2),
    of('other', seconds).toFixed(2),
    ratio.toFixed(2),
    ...atLeast(ratio, least),
    shown(of('bare', written)),
    shown(of('other', written)),
    shown(bytesARow(runs)),
    shown(longestStall(runs)),
    shown(of('other', ({ peakMb }) => peakMb)),
  ];
}

const bytesARow = (runs: readonly Run[]) => median(runs.map(({ other }) => other.writtenBytes / other.rows));

const longestStall = (runs: readonly Run[]) =>
  median(runs.map(({ other }) => other.longestStallMs ?? Number.NaN));

/** One figure with its target, in the column of ratios. */
function figureRow(name: string, figure: number, most: number, digits = 0): string[] {
  return [name, '', '', figure.toFixed(digits), ...atMost(figure, most), '', '', '', '', ''];
}

export const stallRow = (stallMs: number) =>
  figureRow('longest stall of the event loop in ms, of these', stallMs, LONGEST_STALL_MS);

const shown = (figure: number) => (Number.isFinite(figure) ? figure.toFixed(0) : '');

export type BenchOptions = {
  runs: number;
  /** Of `pass-speed`. */
  lines: LineName[];
  /** Of `serve`. */
  tables: ServeTable[];
  /** Rows of each dataset. Of `serve`: keys, and for how many minutes it is watched. */
  rows: number;
  keys: number;
  minutes: number;
};

export const readBenchOptions = () => JSON.parse(process.argv[2] ?? '') as BenchOptions;
