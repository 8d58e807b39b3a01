/**
 * The page in a real browser, on what `npm run build` made: how soon its first view is usable, whether the browser's main
 * thread is ever held up, and how long a dataset's table waits for its rows. Ends with 1 where a bound is broken.
 * `npm run bench -- page --rows 1000000`.
 */

import type { Browser, Locator, Page } from 'playwright-core';
import { launch } from '../../test/helpers/browser.ts';
import { atMost, judgeTable, median, type Table, targetHeads } from '../figures.ts';
import { withMirror } from '../passes.ts';
import { measureFirstView } from './page/first-view.ts';
import { readBenchOptions } from './pass-speed/lines.ts';
import { startServe } from './serve/load.ts';

async function bench(): Promise<void> {
  const { runs, rows } = readBenchOptions();
  await withMirror(rows, async ({ folder }) => {
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
  });
}

/** Above so many rows people know that they wait. */
const MANY = 100_000;
const MOST_MS = { few: 300, many: 5_000 };

/** A dataset's table: how long one who turns, sorts or searches waits for the rows. */
async function measureTable(browser: Browser, url: string, rows: number, runs: number): Promise<Table> {
  const most = rows <= MANY ? MOST_MS.few : MOST_MS.many;
  const asked: Record<string, Look> = {
    'the first rows': { search: '', ...ofRows },
    'rows in the middle': { search: `?from=${Math.floor(rows / 2)}`, ...ofRows },
    'sorted by a number': { search: '?sort=-confidence', ...ofRows },
    'found by a text in any column': { search: '?q=gold', ...ofRows },
    'filtered by a column': {
      search: `?where=${encodeURIComponent(JSON.stringify([['action', '=', 'SELL']]))}`,
      ...ofRows,
    },
    'a chart of a number by time': { search: '?show=chart&value=confidence', ...ofChart },
  };
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 } });
  try {
    const page = await context.newPage();
    const lines: string[][] = [];
    for (const [name, look] of Object.entries(asked)) {
      const took: number[] = [];
      for (let run = 0; run < runs; run += 1)
        took.push(await answered(page, `${url}/datasets/ai-signals`, look));
      const figure = median(took);
      lines.push([name, figure.toFixed(0), Math.max(...took).toFixed(0), ...atMost(figure, most)]);
    }
    return {
      about: `50 rows of ai-signals, or its chart, from asking to seeing, in milliseconds, ${runs} times`,
      heads: ['', 'median', 'most', ...targetHeads],
      rows: lines,
    };
  } finally {
    await context.close();
  }
}

/** What is looked at, the question that it begins with, and where it is seen. */
type Look = { search: string; isAsked(body: string): boolean; seen(page: Page): Locator };

/** The rows are asked for with where they are cut; their columns and their number are not. */
const ofRows: Omit<Look, 'search'> = {
  isAsked: (body) => body.includes('_cut'),
  seen: (page) => page.getByRole('region', { name: 'Rows of ai-signals' }).locator('tbody tr').first(),
};

/** A chart asks first from when to when it reaches. */
const ofChart: Omit<Look, 'search'> = {
  isAsked: (body) => body.includes('unixepoch('),
  seen: (page) => page.locator('main canvas').first(),
};

/** From asking to seeing, on a page that is opened anew. */
async function answered(page: Page, address: string, { search, isAsked, seen }: Look): Promise<number> {
  await page.goto('about:blank');
  const asked = page
    .waitForRequest((request) => isAsked(request.postData() ?? ''))
    .then(() => performance.now());
  await page.goto(`${address}${search}`);
  await seen(page).waitFor();
  return performance.now() - (await asked);
}

await bench();
