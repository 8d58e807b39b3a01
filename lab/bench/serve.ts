/**
 * The service beside a bare `node:http` server that answers the same bytes from memory, with everything on: key, scope,
 * limits, headers, counts, access log. `npm run bench -- serve`, on what `npm run build` made.
 */

import { inColumns } from '../../src/output/text.ts';
import { learnApi, measurePass, withFolder, withLargeApi } from '../passes.ts';
import { readBenchOptions } from './options.ts';
import { measureKept } from './serve/kept-page.ts';
import { issueKeys } from './serve/keys.ts';
import { measureMemory } from './serve/memory.ts';
import { measurePages } from './serve/pages-from-sql.ts';
import { startServe } from './serve/servers.ts';
import type { Table } from './serve/table.ts';
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
      print(await measureKept(serve, folder, keys, runs));
      print(await measurePages(serve, folder, keys, rows));
      print(await measureMemory(serve, keys, rows, minutes));
      print(await measureWalks(serve, keys, rows, runs, { api, folder, learnt }));
    } finally {
      await serve.end();
    }
  }),
);

function print({ about, heads, rows }: Table): void {
  const aligns = heads.map((_, at) => (at === 0 ? 'left' : 'right'));
  process.stdout.write(`\n${about}:\n${inColumns([heads, ...rows], aligns)}\n`);
}
