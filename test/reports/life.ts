/** A process that runs the reports of a folder again and again, until it is killed: `life.ts <dir> <folder> <webhook>`. */

import { systemClock } from '../../src/base/clock.ts';
import { listJobs, tablesOf } from '../../src/job/list.ts';
import { loadJobs } from '../../src/job/load.ts';
import { withQueryProcess } from '../../src/reading/query.ts';
import { openStore } from '../../src/store.ts';
import { runRound } from './round.ts';

const [dir = '', folder = '', url = ''] = process.argv.slice(2);
const store = openStore(dir, await loadJobs(), systemClock.now);
const tables = tablesOf(await listJobs());

await withQueryProcess(async (ask) => {
  for (;;) {
    await runRound({ dir, folder, url, store, tables, ask });
    await systemClock.sleep(2);
  }
});
