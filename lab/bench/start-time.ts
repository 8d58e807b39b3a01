/** `npm run bench -- start-time`: how long built commands take, beside a bare script that opens the same file and selects one row. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadJobs } from '../../src/job/load.ts';
import { inColumns } from '../../src/output/text.ts';
import { openStore } from '../../src/store.ts';
import { median } from '../figures.ts';

const RUNS = 20;
const root = fileURLToPath(new URL('../..', import.meta.url));
const cli = join(root, 'dist/src/cli.js');
const bare = `import { createRequire } from 'node:module';
const Database = createRequire(${JSON.stringify(join(root, 'package.json'))})('better-sqlite3');
const db = new Database(process.argv[2], { readonly: true });
process.stdout.write(JSON.stringify(db.prepare('SELECT 1').get()));
`;

type Took = { wallMs: number; cpuMs: number };

const folder = mkdtempSync(join(tmpdir(), 'mirror-bench-start-'));
openStore(folder, await loadJobs(), Date.now).close();
const script = join(folder, 'bare.mjs');
writeFileSync(script, bare);
const commands: { name: string; args: string[]; most?: number }[] = [
  { name: 'bare script', args: [script, join(folder, 'mirror.db')] },
  { name: '--help', args: [cli, '--help'], most: 2 },
  { name: 'status', args: [cli, 'status'], most: 2 },
  { name: 'query "SELECT 1"', args: [cli, 'query', 'SELECT 1'], most: 3 },
];

const took = commands.map((): Took[] => []);
for (let run = 0; run < RUNS; run += 1)
  for (const [at, { args }] of commands.entries()) took[at]?.push(time(args));
rmSync(folder, { recursive: true });

const [of] = took.map(medianOf);
const heads = ['', 'ms', 'ratio', 'target', 'CPU ms', 'ratio'];
const rows = commands.map(({ name, most }, at) => {
  const { wallMs, cpuMs } = medianOf(took[at] ?? []);
  const ratio = (part: number, whole = 1) => (part / whole).toFixed(2);
  const target = most === undefined ? '' : `≤ ${most}`;
  return [
    name,
    wallMs.toFixed(0),
    ratio(wallMs, of?.wallMs),
    target,
    cpuMs.toFixed(0),
    ratio(cpuMs, of?.cpuMs),
  ];
});
const aligns = heads.map((head) => (head === '' ? 'left' : 'right'));
process.stdout.write(
  `commands from start to end, medians of ${RUNS} interleaved runs:\n${inColumns([heads, ...rows], aligns)}\n`,
);

/** CPU is that of the process and of those that it started, as the shell counts it. */
function time(args: string[]): Took {
  const timed = spawnSync(
    'bash',
    ['--norc', '-c', 'TIMEFORMAT="%R %U %S"; time "$@" >/dev/null 2>&1', 'bash', process.execPath, ...args],
    {
      env: { PATH: process.env['PATH'], MIRROR_DIR: folder },
      cwd: folder,
      encoding: 'utf8',
    },
  );
  // The mirror is empty, which `status` says with 75.
  if (![0, 75].includes(timed.status ?? -1)) throw new Error(timed.stderr);
  const [wall = 0, user = 0, system = 0] = timed.stderr.trim().split(' ').map(Number);
  return { wallMs: wall * 1_000, cpuMs: (user + system) * 1_000 };
}

function medianOf(runs: readonly Took[]): Took {
  return { wallMs: median(runs.map(({ wallMs }) => wallMs)), cpuMs: median(runs.map(({ cpuMs }) => cpuMs)) };
}
