/**
 * `npm run bench`: a full mirror and an unchanged second pass, as ratios to the ceiling measured in the same run; what
 * the governor costs; how long commands take to start.
 */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inColumns } from '../../src/output/text.ts';
import { Database } from '../../src/store/db/sqlite.ts';

type Figures = { rows: number; rowsPerSecond: number; longestStallMs: number; peakMb: number };
type Run = Record<'ceilingFirst' | 'ceilingAgain' | 'mirrorFirst' | 'mirrorAgain', Figures>;

const ROWS = 100_000;
const RUNS = Number(process.env['BENCH_RUNS'] ?? 5);

const { runs, small } = await withServer(ROWS, async (url) => {
  const learnt = await learn(url);
  const runs: Run[] = [];
  for (let run = 0; run < RUNS; run += 1)
    runs.push(await withFolder((folder) => measureRun(url, folder, learnt)));
  const small: Figures[] = [];
  await withServer(ROWS / 10, async (smallUrl) => {
    for (let run = 0; run < RUNS; run += 1)
      small.push(await withFolder((folder) => measure('mirror', smallUrl, folder, learnt)));
  });
  return { runs, small };
});

const heads = ['', 'ceiling rows/s', 'mirror rows/s', 'ratio', 'target', 'stall ms', 'peak MB'];
const table = inColumns(
  [heads, row('first mirror', 'First', 0.7), row('unchanged pass', 'Again', 0.6)],
  heads.map((head) => (head === '' ? 'left' : 'right')),
);
process.stdout.write(`${ROWS.toLocaleString('en-US')} rows, medians of ${RUNS} runs\n${table}\n`);
const smallPeak = median(small.map(({ peakMb }) => peakMb));
process.stdout.write(
  `peak memory at ${(ROWS / 10).toLocaleString('en-US')} rows: ${smallPeak.toFixed(0)} MB\n`,
);
for (const part of ['governor.ts', 'start.ts'])
  spawnSync(process.execPath, ['--import', 'tsx', fileURLToPath(new URL(part, import.meta.url))], {
    stdio: 'inherit',
  });

function row(name: string, pass: 'First' | 'Again', target: number): string[] {
  const of = (side: 'ceiling' | 'mirror', figure: keyof Figures) =>
    median(runs.map((run) => run[`${side}${pass}`][figure]));
  const ratio = median(
    runs.map((run) => run[`mirror${pass}`].rowsPerSecond / run[`ceiling${pass}`].rowsPerSecond),
  );
  return [
    name,
    of('ceiling', 'rowsPerSecond').toFixed(0),
    of('mirror', 'rowsPerSecond').toFixed(0),
    ratio.toFixed(2),
    `≥ ${target}`,
    of('mirror', 'longestStallMs').toFixed(0),
    of('mirror', 'peakMb').toFixed(0),
  ];
}

async function measureRun(url: string, folder: string, learnt: string): Promise<Run> {
  const ceilingFirst = measure('ceiling', url, folder);
  const mirrorFirst = measure('mirror', url, folder, learnt);
  await fetch(`${url}/publish`);
  const ceilingAgain = measure('ceiling', url, folder);
  const mirrorAgain = measure('mirror', url, folder);
  return { ceilingFirst, mirrorFirst, ceilingAgain, mirrorAgain };
}

/** What the governor learns of a new API; `npm run simulate` measures how long that takes it. */
async function learn(url: string): Promise<string> {
  return await withFolder((folder) => {
    measure('mirror', url, folder);
    const db = new Database(join(folder, 'mirror.db'), { readonly: true });
    const state = db.prepare<[], string>('SELECT state FROM governor').pluck().get();
    db.close();
    if (!state) throw new Error('the governor kept no state');
    return state;
  });
}

/** A pass in a process of its own. */
function measure(what: 'ceiling' | 'mirror', url: string, folder: string, learnt = ''): Figures {
  const script = fileURLToPath(new URL('pass.ts', import.meta.url));
  const child = spawnSync(process.execPath, ['--import', 'tsx', script, what, url, folder, learnt], {
    encoding: 'utf8',
  });
  if (child.status !== 0) throw new Error(child.stderr);
  return JSON.parse(child.stdout) as Figures;
}

async function withServer<T>(rows: number, use: (url: string) => Promise<T>): Promise<T> {
  const script = fileURLToPath(new URL('server.ts', import.meta.url));
  const server = spawn(process.execPath, ['--import', 'tsx', script, String(rows)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = (await once(server.stdout, 'data')) as [Buffer];
    return await use(line.toString().trim());
  } finally {
    server.kill();
  }
}

async function withFolder<T>(use: (folder: string) => T | Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'market-mirror-bench-'));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] as number;
}
