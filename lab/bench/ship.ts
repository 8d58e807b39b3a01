/**
 * Shipping to a Postgres of its own, with the settings that Postgres has by itself, beside plain COPY of the same rows:
 * `npm run bench -- ship`, on what `npm run build` made. Ends with 1 where a bound is broken.
 */

import { learnApi, measurePass, withFolder, withLargeApi } from '../passes.ts';
import { readBenchOptions } from './options.ts';
import { judgeTable } from './serve/table.ts';
import { measureChanges } from './ship/changes.ts';
import { measureFirstLoad } from './ship/first-load.ts';
import { withGrownMirror } from './ship/grown-mirror.ts';
import { measureMemory } from './ship/memory.ts';
import { withShipping } from './ship/shipping.ts';
import { measureWalks } from './ship/walks-beside.ts';

/** A walk takes long where others are measured in moments. */
const MOST_WALKED = 30_000;

const { runs, rows } = readBenchOptions();
const learnt = await withLargeApi(10_000, learnApi);

await withGrownMirror(rows, learnt, (folder) =>
  withShipping(folder, async (shipping) => {
    process.stdout.write(`${rows.toLocaleString('en-US')} rows each of ai-signals and news\n`);
    judgeTable(await measureFirstLoad(shipping, runs));
    judgeTable(await measureChanges(shipping, rows, runs));
    judgeTable(await measureMemory(shipping, folder, rows, learnt));
  }),
);
const walked = Math.min(rows, MOST_WALKED);
await withLargeApi(walked, (api) =>
  withFolder((folder) =>
    withShipping(folder, async (shipping) => {
      for (const job of ['ai-signals', 'news']) await measurePass(job, api, folder, learnt);
      judgeTable(await measureWalks(shipping, walked, runs, { api, folder, learnt }));
    }),
  ),
);
