/** What shipping costs the walks beside it. */

import { median } from '../../figures.ts';
import { measurePass } from '../../passes.ts';
import { atLeast, type Table, targetHeads } from '../serve/table.ts';
import type { Shipping } from './shipping.ts';

export async function measureWalks(
  { ship }: Shipping,
  rows: number,
  runs: number,
  { api, folder, learnt }: { api: string; folder: string; learnt: string },
): Promise<Table> {
  const alone: number[] = [];
  const beside: number[] = [];
  await ship();
  const walk = async () => (await measurePass('ai-signals', api, folder, learnt)).rowsPerSecond;
  for (let run = 0; run < runs; run += 1) {
    await fetch(`${api}/publish?aged`);
    alone.push(await walk());
    await fetch(`${api}/publish?aged`);
    // What the walk before has brought is shipped while this one runs, as by the daemon.
    const [perSecond] = await Promise.all([walk(), ship()]);
    beside.push(perSecond);
  }
  const ratio = median(beside.map((perSecond, run) => perSecond / (alone[run] ?? Number.NaN)));
  return {
    about: `walks of ${rows.toLocaleString('en-US')} ai-signals in which every volatile value moved, while those of the walk before are shipped, medians of ${runs} interleaved runs`,
    heads: ['', 'rows/s alone', 'rows/s beside', 'ratio', ...targetHeads],
    rows: [
      ['walk', median(alone).toFixed(0), median(beside).toFixed(0), ratio.toFixed(2), ...atLeast(ratio, 0.9)],
    ],
  };
}
