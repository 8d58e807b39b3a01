/** What a proof costs: bytes of the write-ahead log a row, and memory, of passes over datasets of any size. */

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { RowidSet } from '../../src/store/rowids.ts';
import { Database } from '../../src/store/sqlite.ts';
import { markdownTable } from '../figures.ts';
import { measurePass, withFolder, withLargeApi } from '../passes.ts';

const heads = [
  'dataset',
  'rows',
  'log bytes a row, unchanged pass',
  'peak MB, first pass',
  'peak MB, unchanged pass',
];

/** Markdown, a row a dataset and size. */
export async function costTable(jobs: readonly string[], sizes: readonly number[]): Promise<string> {
  const lines: string[][] = [];
  for (const rows of sizes)
    for (const job of jobs) {
      const { first, again, logBytes } = await measureCost(job, rows);
      const figures = [(logBytes / rows).toFixed(1), first.peakMb.toFixed(0), again.peakMb.toFixed(0)];
      lines.push([job, rows.toLocaleString('en'), ...figures]);
    }
  const set = sizes.map((rows) => `${seenBytes(rows).toFixed(3)} at ${rows.toLocaleString('en')} rows`);
  return `${markdownTable(heads, lines)}\n\nbytes a row of the set of rows met, in memory: ${set.join(', ')}`;
}

function measureCost(job: string, rows: number) {
  return withFolder((folder) =>
    withLargeApi(rows, async (url) => {
      const first = await measurePass(job, url, folder);
      await fetch(`${url}/publish`);
      const log = holdLog(join(folder, 'mirror.db'));
      const again = await measurePass(job, url, folder);
      if (again.changed !== 0 || again.verdict === 'union' || again.rows !== rows)
        throw new Error(`not an unchanged pass: ${JSON.stringify(again)}`);
      return { first, again, logBytes: log.release() };
    }),
  );
}

/** A reader of an old state keeps the write-ahead log from being reused, so that its size is all that was added. */
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

function seenBytes(rows: number): number {
  const before = process.memoryUsage().arrayBuffers;
  const seen = new RowidSet();
  for (let row = 1; row <= rows; row += 1) seen.add(row);
  return (process.memoryUsage().arrayBuffers - before) / seen.size;
}
