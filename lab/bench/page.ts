/**
 * The page in a real browser, on what `npm run build` made: how soon its first view is usable, whether the browser's main
 * thread is ever held up, and how long a dataset's table waits for its rows. Ends with 1 where a bound is broken.
 * `npm run bench -- page --rows 1000000`.
 */

import { launch } from '../../test/helpers/browser.ts';
import { learnApi, measurePass, withFolder, withLargeApi } from '../passes.ts';
import { readBenchOptions } from './options.ts';
import { measureFirstView } from './page/first-view.ts';
import { measureTable } from './page/table.ts';
import { startServe } from './serve/servers.ts';
import { judgeTable } from './serve/table.ts';

const { runs, rows } = readBenchOptions();
const learnt = await withLargeApi(10_000, learnApi);

await withLargeApi(rows, (api) =>
  withFolder(async (folder) => {
    for (const job of ['ai-signals', 'news']) await measurePass(job, api, folder, learnt);
    const serve = await startServe(folder, { MIRROR_SERVE_PAGE: 'open' });
    const browser = await launch();
    try {
      process.stdout.write(`${rows.toLocaleString('en-US')} rows each of ai-signals and news\n`);
      judgeTable(await measureFirstView(browser, serve.url, runs));
      judgeTable(await measureTable(browser, serve.url, rows, runs));
    } finally {
      await browser.close();
      await serve.end();
    }
  }),
);
