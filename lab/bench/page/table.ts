/** A dataset's table: how long one who turns, sorts or searches waits for the rows. */

import type { Browser, Page } from 'playwright-core';
import { median } from '../../figures.ts';
import { atMost, type Table, targetHeads } from '../serve/table.ts';

/** Above so many rows people know that they wait. */
const MANY = 100_000;
const MOST_MS = { few: 300, many: 5_000 };

export async function measureTable(
  browser: Browser,
  url: string,
  rows: number,
  runs: number,
): Promise<Table> {
  const most = rows <= MANY ? MOST_MS.few : MOST_MS.many;
  const asked = {
    'the first rows': '',
    'rows in the middle': `?from=${Math.floor(rows / 2)}`,
    'sorted by a number': '?sort=-confidence',
    'found by a text in any column': '?q=gold',
    'filtered by a column': `?where=${encodeURIComponent(JSON.stringify([['action', '=', 'SELL']]))}`,
  };
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 } });
  try {
    const page = await context.newPage();
    const lines: string[][] = [];
    for (const [name, search] of Object.entries(asked)) {
      const took: number[] = [];
      for (let run = 0; run < runs; run += 1)
        took.push(await answered(page, `${url}/datasets/ai-signals${search}`));
      const figure = median(took);
      lines.push([name, figure.toFixed(0), Math.max(...took).toFixed(0), ...atMost(figure, most)]);
    }
    return {
      about: `a page of 50 rows of ai-signals, from asking for it to seeing it, in milliseconds, ${runs} times`,
      heads: ['', 'median', 'most', ...targetHeads],
      rows: lines,
    };
  } finally {
    await context.close();
  }
}

/** From asking for the rows to seeing them, on a page that is opened anew. */
async function answered(page: Page, address: string): Promise<number> {
  await page.goto('about:blank');
  const asked = page.waitForRequest((request) => isOfRows(request.postData())).then(() => performance.now());
  await page.goto(address);
  await page.getByRole('region', { name: 'Rows of ai-signals' }).locator('tbody tr').first().waitFor();
  return performance.now() - (await asked);
}

/** The rows are asked for with where they are cut; their columns and their number are not. */
const isOfRows = (body: string | null) => body?.includes('_cut') ?? false;
