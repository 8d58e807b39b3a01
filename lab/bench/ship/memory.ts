/** Peak memory of a first load, against that of one of a hundredth of the rows. */

import { measurePass, withFolder, withLargeApi } from '../../passes.ts';
import { atMost, type Table, targetHeads } from '../serve/table.ts';
import { SCHEMA, type Shipping } from './shipping.ts';

export async function measureMemory({ query, ship }: Shipping, rows: number, learnt: string): Promise<Table> {
  const few = Math.round(rows / 100);
  const small = await withLargeApi(few, (api) =>
    withFolder(async (folder) => {
      for (const job of ['ai-signals', 'news']) await measurePass(job, api, folder, learnt);
      return (await ship(folder, 'small')).peakMb;
    }),
  );
  await query(`DROP SCHEMA ${SCHEMA} CASCADE`);
  const large = (await ship()).peakMb;
  return {
    about: `peak memory of a first load`,
    heads: [
      '',
      `${few.toLocaleString('en-US')} rows, MB`,
      `${rows.toLocaleString('en-US')} rows`,
      'more',
      ...targetHeads,
    ],
    rows: [
      ['ship', small.toFixed(0), large.toFixed(0), (large - small).toFixed(0), ...atMost(large - small, 30)],
    ],
  };
}
