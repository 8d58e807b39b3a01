/** One page again and again, as it is kept: beside the bare server, and where the client knows it already. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { median } from '../../figures.ts';
import { type Asked, type Load, load, quantile } from './load.ts';
import { type Server, startBare } from './servers.ts';
import { atLeast, atMost, type Table, targetHeads } from './table.ts';

const CONNECTIONS = [10, 200];
const SECONDS = 3;
/** Answers by which the compiler is through with what is called most. */
const WARM_UP = 10_000;
const PATH = '/api/v1/news';

type Runs = Record<'bare' | 'kept' | 'known', Load[]>;

export async function measureKept(
  serve: Server,
  folder: string,
  [key = '']: readonly string[],
  runs: number,
): Promise<Table> {
  const answer = await fetch(`${serve.url}${PATH}`, { headers: { authorization: `Bearer ${key}` } });
  const page = await answer.text();
  const file = join(folder, 'page.json');
  writeFileSync(file, page);
  const bare = await startBare(file);
  try {
    const ask = { path: PATH, key };
    const known = { ...ask, ifNoneMatch: answer.headers.get('etag') ?? '' };
    const rows: string[][] = [];
    for (const connections of CONNECTIONS) rows.push(...rowsOf(connections, await compare(connections)));
    return {
      about: `a kept page of ${(Buffer.byteLength(page) / 1_000).toFixed(0)} kB beside a bare server, medians of ${runs} interleaved runs of ${SECONDS} s`,
      heads: ['', 'answers/s', 'CPU µs', 'median ms', '99 of 100', 'ratio', ...targetHeads],
      rows,
    };

    async function compare(connections: number): Promise<Runs> {
      const measure = (server: Server, status: '2xx' | '3xx', asked: Asked, amount?: number) => {
        const length = amount === undefined ? { seconds: SECONDS } : { amount };
        return load(server, { connections, ...length }, status, () => asked);
      };
      const all: Runs = { bare: [], kept: [], known: [] };
      await measure(bare, '2xx', ask, WARM_UP);
      await measure(serve, '2xx', ask, WARM_UP);
      await measure(serve, '3xx', known, WARM_UP);
      for (let run = 0; run < runs; run += 1) {
        all.bare.push(await measure(bare, '2xx', ask));
        all.kept.push(await measure(serve, '2xx', ask));
        all.known.push(await measure(serve, '3xx', known));
      }
      return all;
    }
  } finally {
    await bare.end();
  }
}

function rowsOf(connections: number, { bare, kept, known }: Runs): string[][] {
  const ratio = (loads: Load[], to: Load[]) =>
    median(loads.map(({ perSecond }, run) => perSecond / (to[run]?.perSecond ?? Number.NaN)));
  const figures = (loads: Load[]) => [
    median(loads.map(({ perSecond }) => perSecond)).toFixed(0),
    median(loads.map(({ cpuMs }) => cpuMs * 1_000)).toFixed(0),
    median(loads.map(({ took }) => quantile(took, 0.5))).toFixed(2),
    median(loads.map(({ took }) => quantile(took, 0.99))).toFixed(2),
  ];
  const toBare = ratio(kept, bare);
  const toKept = ratio(known, kept);
  const tail = median(kept.map(({ took }) => quantile(took, 0.99) / quantile(took, 0.5)));
  return [
    [`bare, ${connections} connections`, ...figures(bare), '', '', ''],
    ['serve', ...figures(kept), toBare.toFixed(2), ...atLeast(toBare, 0.4)],
    ['serve, 99 of 100 to the median', '', '', '', '', tail.toFixed(1), ...atMost(tail, 10)],
    ['serve, 304, to 200', ...figures(known), toKept.toFixed(2), ...atLeast(toKept, 1)],
  ];
}
