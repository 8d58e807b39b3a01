/** What a proof costs: bytes of the write-ahead log a row, and memory, of passes over datasets of any size. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Database } from '../../src/store/db/sqlite.ts';
import { createSeenRows } from '../../src/store/walk/seen.ts';

type Pass = { rows: number; verdict: string; changed: number; apiCalls: number; peakMb: number };

/** Markdown, a row a dataset and size. */
export async function costTable(jobs: readonly string[], sizes: readonly number[]): Promise<string> {
  const lines = [
    '| dataset | rows | log bytes a row, unchanged pass | peak MB, first pass | peak MB, unchanged pass |',
    `|---${'|--:'.repeat(4)}|`,
  ];
  for (const rows of sizes)
    for (const job of jobs) {
      const { first, again, logBytes } = await measureCost(job, rows);
      const figures = [(logBytes / rows).toFixed(1), first.peakMb.toFixed(0), again.peakMb.toFixed(0)];
      lines.push(`| ${job} | ${rows.toLocaleString('en')} | ${figures.join(' | ')} |`);
    }
  const set = sizes.map((rows) => `${seenBytes(rows).toFixed(3)} at ${rows.toLocaleString('en')} rows`);
  return `${lines.join('\n')}\n\nbytes a row of the set of rows met, in memory: ${set.join(', ')}`;
}

async function measureCost(job: string, rows: number) {
  const folder = mkdtempSync(join(tmpdir(), 'market-mirror-cost-'));
  const server = spawn(process.execPath, ['--import', 'tsx', fileOf('large-api.ts'), String(rows)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = (await once(server.stdout, 'data')) as [Buffer];
    const url = line.toString().trim();
    const first = pass(url, folder, job);
    await fetch(`${url}/publish`);
    const log = holdLog(join(folder, 'mirror.db'));
    const again = pass(url, folder, job);
    if (again.changed > 0 || again.verdict === 'union' || again.rows !== rows)
      throw new Error(`not an unchanged pass: ${JSON.stringify(again)}`);
    return { first, again, logBytes: log.release() };
  } finally {
    server.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A reader of an old state keeps the write-ahead log from being begun anew, so that its size is all that was added. */
function holdLog(file: string) {
  const reader = new Database(file);
  reader.pragma('wal_checkpoint(TRUNCATE)');
  reader.exec('BEGIN; SELECT count(*) FROM walks');
  return {
    release(): number {
      const bytes = statSync(`${file}-wal`).size;
      reader.close();
      return bytes;
    },
  };
}

function pass(url: string, folder: string, job: string): Pass {
  const script = ['--import', 'tsx', fileOf('cost-pass.ts')];
  const child = spawnSync(process.execPath, [...script, url, folder, job], { encoding: 'utf8' });
  if (child.status !== 0) throw new Error(child.stderr);
  return JSON.parse(child.stdout) as Pass;
}

function seenBytes(rows: number): number {
  const before = process.memoryUsage().arrayBuffers;
  const seen = createSeenRows();
  for (let row = 1; row <= rows; row += 1) seen.add(row);
  return (process.memoryUsage().arrayBuffers - before) / seen.size;
}

const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
