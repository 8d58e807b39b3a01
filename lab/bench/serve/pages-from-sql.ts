/**
 * Pages that nobody has asked for before, so that each is read from SQL, near and far; beside a bare server that answers one of
 * them from memory, which tells how much of the slowest the client and the machine are.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { load, quantile } from './load.ts';
import { type Server, startBare } from './servers.ts';
import { atMost, type Table, targetHeads } from './table.ts';

const PAGES = 1_000;
/** Pages by which the compiler is through with what is called most. */
const WARM_UP = 1_000;
const LIMIT = 100;

export async function measurePages(
  serve: Server,
  folder: string,
  [key = '']: readonly string[],
  rows: number,
): Promise<Table> {
  const lines: string[][] = [];
  const answered = async (server: Server, amount: number, path: () => string) => {
    const { cpuMs, took } = await load(server, { connections: 1, amount }, '2xx', () => ({
      path: path(),
      key,
    }));
    return { cpuMs, median: quantile(took, 0.5), slow: quantile(took, 0.99) };
  };
  for (const job of ['news', 'ai-signals']) {
    const path = (limit: number, offset: number) => `/api/v1/${job}?limit=${limit}&offset=${offset}`;
    const first = await fetch(`${serve.url}${path(LIMIT, 0)}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const file = join(folder, 'page.json');
    writeFileSync(file, Buffer.from(await first.arrayBuffer()));
    const bare = await startBare(file);
    try {
      await answered(bare, WARM_UP, () => '/');
      const { cpuMs, median, slow } = await answered(bare, PAGES, () => '/');
      lines.push([`${job}, bare`, cpuMs.toFixed(2), '', '', median.toFixed(2), slow.toFixed(2), '', '']);
    } finally {
      await bare.end();
    }
    const others = distinctOffsets(0, rows - LIMIT);
    await answered(serve, WARM_UP, () => path(LIMIT - 1, others()));
    for (const [where, from, to] of [
      ['the first tenth', 0, rows / 10],
      ['anywhere', 0, rows],
      ['the last tenth', rows - rows / 10, rows],
    ] as const) {
      const offsets = distinctOffsets(from, to - LIMIT);
      const { cpuMs, median, slow } = await answered(serve, PAGES, () => path(LIMIT, offsets()));
      const figures = [cpuMs.toFixed(2), ...atMost(cpuMs, 1), median.toFixed(2), slow.toFixed(2)];
      lines.push([`${job}, ${where}`, ...figures, ...atMost(slow, 5)]);
    }
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
