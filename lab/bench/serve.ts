/**
 * The service beside a bare `node:http` server that answers the same bytes from memory, with everything on: key, scope,
 * limits, headers, counts, access log. `npm run bench -- serve`, on what `npm run build` made.
 */

import { learnApi, measurePass, withFolder, withLargeApi } from '../passes.ts';
import { readBenchOptions } from './options.ts';
import { measureKept } from './serve/kept-page.ts';
import { issueKeys } from './serve/keys.ts';
import { measureMemory } from './serve/memory.ts';
import { measurePages } from './serve/pages-from-sql.ts';
import { startServe } from './serve/servers.ts';
import { printTable } from './serve/table.ts';
import { measureWalks } from './serve/walks-beside.ts';

const { runs, rows, keys: count, minutes } = readBenchOptions();
const jobs = ['news', 'ai-signals'];
const learnt = await withLargeApi(10_000, learnApi);

await withLargeApi(rows, (api) =>
  withFolder(async (folder) => {
    for (const job of jobs) await measurePass(job, api, folder, learnt);
    const keys = issueKeys(folder, count);
    const serve = await startServe(folder);
    try {
      process.stdout.write(
        `${rows.toLocaleString('en-US')} rows each of ${jobs.join(' and ')}, ${count} keys\n`,
      );
      printTable(await measureKept(serve, folder, keys, runs));
      printTable(await measurePages(serve, folder, keys, rows));
      printTable(await measureMemory(serve, keys, rows, minutes));
      printTable(await measureWalks(serve, keys, rows, runs, { api, folder, learnt }));
    } finally {
      await serve.end();
    }
  }),
);
