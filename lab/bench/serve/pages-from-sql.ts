/** Pages that nobody has asked for before, so that each is read from SQL, near and far. */

import { load, quantile } from './load.ts';
import type { Server } from './servers.ts';
import { atMost, type Table, targetHeads } from './table.ts';

const PAGES = 1_000;
const LIMIT = 100;

export async function measurePages(
  serve: Server,
  [key = '']: readonly string[],
  rows: number,
): Promise<Table> {
  const lines: string[][] = [];
  for (const job of ['news', 'ai-signals'])
    for (const [where, from, to] of [
      ['the first tenth', 0, rows / 10],
      ['anywhere', 0, rows],
      ['the last tenth', rows - rows / 10, rows],
    ] as const) {
      const offsets = distinctOffsets(from, to - LIMIT);
      const { cpuMs, took } = await load(serve, { connections: 1, amount: PAGES }, '2xx', () => ({
        path: `/api/v1/${job}?limit=${LIMIT}&offset=${offsets()}`,
        key,
      }));
      const slow = quantile(took, 0.99);
      lines.push([
        `${job}, ${where}`,
        cpuMs.toFixed(2),
        ...atMost(cpuMs, 1),
        quantile(took, 0.5).toFixed(2),
        slow.toFixed(2),
        ...atMost(slow, 5),
      ]);
    }
  return {
    about: `${PAGES} pages of ${LIMIT} rows that must be read from SQL, one after the other, at offsets up to ${rows.toLocaleString('en-US')}`,
    heads: ['', 'CPU ms', ...targetHeads, 'median ms', '99 of 100', ...targetHeads],
    rows: lines,
  };
}

/** One after the other, far apart, the same in every run. */
export function distinctOffsets(from: number, to: number): () => number {
  const span = Math.max(1, Math.floor(to - from));
  let at = 0;
  return () => {
    // A step that shares no divisor with most spans comes to every place before it comes to one again.
    at = (at + 7_368_787) % span;
    return Math.floor(from) + at;
  };
}
