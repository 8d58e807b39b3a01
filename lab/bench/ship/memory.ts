/** Peak memory of a first load, of more and more rows. */

import { atMost, type Table, targetHeads } from '../serve/table.ts';
import { withGrownMirror } from './grown-mirror.ts';
import { SCHEMA, type Shipping } from './shipping.ts';

/** @param folder a mirror of so many rows. */
export async function measureMemory(
  { query, ship }: Shipping,
  folder: string,
  rows: number,
  learnt: string,
): Promise<Table> {
  const peakOf = async (dir: string) => {
    await query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`);
    return (await ship(dir)).peakMb;
  };
  const parts = [rows / 100, rows / 10].map(Math.round);
  const peaks: number[] = [];
  for (const part of parts) peaks.push(await withGrownMirror(part, learnt, peakOf));
  peaks.push(await peakOf(folder));
  // By a tenth of the rows all that is made once has been made.
  const [, least = 0, most = 0] = peaks;
  return {
    about: 'peak memory of a first load, MB, by rows of each dataset',
    heads: ['', ...[...parts, rows].map((count) => count.toLocaleString('en-US')), 'more', ...targetHeads],
    rows: [
      [
        'ship',
        ...peaks.map((peak) => peak.toFixed(0)),
        (most - least).toFixed(0),
        ...atMost(most - least, 30),
      ],
    ],
  };
}
