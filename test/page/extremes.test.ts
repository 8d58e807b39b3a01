/** Rows as nobody would wish them, with markup wherever there is text, and so many that whatever reads all of them is felt. */

import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { orderText } from '../../web/question.ts';
import { faultsToTheEye, go, openSight, settled, sweep, tableIn } from './support.ts';

const SCRIPT = `"><img src=x onerror="window.hit = 1"><script>window.hit = 1</script>'; DROP TABLE news; --`;
const ROWS = 30_000;
const shown = ROWS.toLocaleString('en');

const sight = await openSight({ rows: 0, walked: [] });
afterAll(sight.close);
const { bench } = sight;
bench.model.data.memeSignals.rows = Array.from({ length: 12 }, (_, at) => strangeRow(at)) as never;
await bench.mirror('meme-signals');
bench.model.data.news.rows = [
  { id: 'n-0', headline: 'Headline 0', reads: 0, publishedAt: '2026-01-02T03:04:05Z' },
] as never;
await bench.mirror('news');
const amounts = [800_126.23, 622_846.39, -61_868.51, 10_588.7, 5, 1_234.5];
bench.model.data.smartWallets.rows = amounts.map((amount, at) => ({
  address: `w-${at}`,
  pnl: amount,
  share: amount / 1e6,
  rate: at === 0 ? 1 / 3 : amount,
})) as never;
await bench.mirror('smart-wallets');
// A walk over so many takes long; all that the page reads of one is what it leaves behind.
bench.tamper(`
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS - 1})
  INSERT INTO _news_rows (_body, _key, _first_seen_at, _changed_at, _walk_id)
  SELECT json_set(_body, '$.id', 'n-' || i, '$.headline', 'Headline ' || i, '$.reads', i * 7919 % ${ROWS}),
    'n-' || i, _first_seen_at, _changed_at, _walk_id FROM _news_rows, n;
  UPDATE walks SET rows = ${ROWS}, distinct_keys = ${ROWS}, total = ${ROWS}, total_first = ${ROWS}, inserted = ${ROWS}
    WHERE job = 'news';
  UPDATE walks SET error = '${SCRIPT.replaceAll("'", "''")}' WHERE job = 'meme-signals'`);
bench.clock.advance(60_000);

/** Markup in names, values and keys, and a column for everything. */
function strangeRow(at: number): Record<string, unknown> {
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, field) => [`field_${field}`, field * at]));
  return {
    id: `${SCRIPT} ${at}`,
    title: SCRIPT,
    [SCRIPT]: SCRIPT,
    'a "quoted", name`[]': ['</script>', { [SCRIPT]: null }],
    url: `javascript:window.hit=1`,
    'long text': 'word '.repeat(5_000),
    right_to_left: '\u202Eesrever\u202C',
    ...many,
  };
}

const strange = '/datasets/meme-signals';
const strangeKey = encodeURIComponent(`${SCRIPT} 7`);

test('every view shows markup of others as the text that it is; a long value is opened to its last letter, and 300 columns by their names', async () => {
  const views = [
    `${strange}?order=${encodeURIComponent(orderText({ column: SCRIPT, descending: false }))}&q=%3Cimg`,
    ...[`${strange}/rows/${strangeKey}`, '/walks/1', '/changes?job=eq.meme-signals'],
    `/sql#${new URLSearchParams({ sql: 'SELECT * FROM meme_signals LIMIT 5' })}`,
    `/sql#${new URLSearchParams({ sql: `SELECT '${SCRIPT}` })}`,
  ];
  const found = await sweep(sight, views, {}, async (window) => {
    const isHit = await window.page.evaluate(() => 'hit' in globalThis);
    const alive = await window.page.locator('main img, main script, a[href^="javascript:"]').count();
    return [...(isHit || alive > 0 ? ['markup is alive'] : []), ...(await faultsToTheEye(window))];
  });
  expect(found).toEqual([]);
  const window = await sight.visit(`${strange}/rows/${strangeKey}`);
  const { page } = window;
  await page
    .getByRole('button', { name: /^25,000 characters/ })
    .first()
    .click();
  expect((await page.getByRole('dialog').locator('pre').innerText()).length).toBe(25_000);
  await page.keyboard.press('Escape');
  await go(window, strange);
  await page.getByText(/^Columns \d+ of \d{3}/).click();
  await page.getByRole('button', { name: 'All', exact: true }).click();
  await settled(page);
  const heads = page.getByRole('region', { name: 'Rows of meme-signals' }).getByRole('columnheader');
  await expect.poll(() => heads.count()).toBeGreaterThan(300);
});

test('money is shown to the cent, and no digit is made up behind one that was rounded', async () => {
  const { page } = await sight.visit('/datasets/smart-wallets?order=address');
  const [heads = [], ...lines] = await tableIn(page, 'Rows of smart-wallets');
  const shown = (name: string) => lines.map((line) => line[heads.findIndex((head) => head.startsWith(name))]);
  expect(shown('pnl')).toEqual(['800,126.23', '622,846.39', '-61,868.51', '10,588.70', '5.00', '1,234.50']);
  expect(shown('share')).toEqual([
    '0.800126',
    '0.622846',
    '-0.0618685',
    '0.0105887',
    '0.000005',
    '0.0012345',
  ]);
  expect(shown('rate')).toEqual(['0.333333', '622,846.39', '-61,868.51', '10,588.7', '5', '1,234.5']);
});

/** Of the rows that are shown. */
async function keysIn(page: Page): Promise<string[]> {
  const [, ...lines] = await tableIn(page, 'Rows of news');
  return lines.map(([key = '']) => key);
}

test('rows of many are shown as SQL finds them, to the last page; a search is given up for another without a trace', async () => {
  const views: Record<string, string> = {
    [`?order=_changed_at.desc&offset=${ROWS - 50}`]: `LIMIT 50 OFFSET ${ROWS - 50}`,
    '?order=reads.desc': 'ORDER BY reads DESC LIMIT 50',
    '?order=_key&q=headline+27777': `WHERE headline LIKE '%headline 27777%' LIMIT 50`,
    '?order=_key&reads=lt.7': 'WHERE reads < 7 ORDER BY _key LIMIT 50',
  };
  const window = await sight.visit('/', { width: 390 });
  const { page, messages } = window;
  for (const [search, clauses] of Object.entries(views)) {
    await go(window, `/datasets/news${search}`);
    expect(await page.locator('.heading').first().innerText()).toContain(`${shown} rows`);
    const keys = bench.sql<{ _key: string }>(`SELECT _key FROM news ${clauses}`).map(({ _key }) => _key);
    expect([search, await keysIn(page)]).toEqual([search, keys]);
  }

  await go(window, '/datasets/news');
  const box = page.getByRole('searchbox');
  await box.fill('no row says this');
  await page.waitForURL('**?q=no*');
  await box.fill('headline 29999');
  await page.getByText(`1 of ${shown} rows`).waitFor();
  await settled(page);
  expect(await keysIn(page)).toEqual(['n-29999']);
  expect(messages).toEqual([]);
});
