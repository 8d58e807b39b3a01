/** What clients of the service cost the walks of a daemon over the same mirror. */

import { median } from '../../figures.ts';
import { measurePass } from '../../passes.ts';
import { load } from './load.ts';
import { distinctOffsets } from './pages-from-sql.ts';
import type { Server } from './servers.ts';
import { atLeast, type Table, targetHeads } from './table.ts';

/** Pages from SQL, a second: what a score of clients ask for that follow a dataset at full speed. */
const PAGES_A_SECOND = 50;

export async function measureWalks(
  serve: Server,
  [key = '']: readonly string[],
  rows: number,
  runs: number,
  { api, folder, learnt }: { api: string; folder: string; learnt: string },
): Promise<Table> {
  const alone: number[] = [];
  const beside: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    await fetch(`${api}/publish`);
    alone.push((await measurePass('ai-signals', api, folder, learnt)).rowsPerSecond);
    await fetch(`${api}/publish`);
    beside.push(await whileAsked());
  }
  const ratio = median(beside.map((perSecond, run) => perSecond / (alone[run] ?? Number.NaN)));
  return {
    about: `walks of ai-signals, unchanged but published again, while ${PAGES_A_SECOND} pages a second are read from SQL, medians of ${runs} interleaved runs`,
    heads: ['', 'rows/s alone', 'rows/s beside', 'ratio', ...targetHeads],
    rows: [
      ['walk', median(alone).toFixed(0), median(beside).toFixed(0), ratio.toFixed(2), ...atLeast(ratio, 0.9)],
    ],
  };

  async function whileAsked(): Promise<number> {
    const offsets = distinctOffsets(0, rows - 100);
    let isOver = false;
    const asking = (async () => {
      while (!isOver)
        await load(serve, { connections: 5, amount: PAGES_A_SECOND, rate: PAGES_A_SECOND }, '2xx', () => ({
          path: `/api/v1/news?limit=100&offset=${offsets()}`,
          key,
        }));
    })();
    const { rowsPerSecond } = await measurePass('ai-signals', api, folder, learnt);
    isOver = true;
    await asking;
    return rowsPerSecond;
  }
}
