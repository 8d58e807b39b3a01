import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { go, openSight, type Sight, settled, tableIn } from './support.ts';

/** So many that whatever reads all of them is felt. */
const ROWS = 100_000;
const shown = ROWS.toLocaleString('en');

let sight: Sight;
beforeAll(async () => {
  sight = await openSight({ rows: 0, walked: [] });
  const { bench } = sight;
  bench.model.data.news.rows = [newsRow(0)] as never;
  await bench.mirror('news');
  // A walk over so many takes long; all that the page reads of one is what it leaves behind.
  bench.tamper(`
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS - 1})
    INSERT INTO news_rows (_body, _key, _first_seen_at, _changed_at, _walk_id)
    SELECT json_set(_body, '$.id', 'n-' || i, '$.headline', 'Headline ' || i, '$.reads', i * 7919 % ${ROWS}),
      'n-' || i, _first_seen_at, _changed_at, _walk_id FROM news_rows, n;
    UPDATE walks SET rows = ${ROWS}, distinct_keys = ${ROWS}, total = ${ROWS}, total_first = ${ROWS}, inserted = ${ROWS};
  `);
  bench.clock.advance(60_000);
});
afterAll(() => sight.close());

function newsRow(at: number): Record<string, unknown> {
  return { id: `n-${at}`, headline: `Headline ${at}`, reads: at, publishedAt: '2026-01-02T03:04:05Z' };
}

/** Of the rows that are shown. */
async function keysIn(page: Page): Promise<string[]> {
  const [, ...lines] = await tableIn(page, 'Rows of news');
  return lines.map(([key = '']) => key);
}

const keysOf = (sql: string) => sight.bench.sql<{ _key: string }>(sql).map(({ _key }) => _key);

test('rows of many are shown as SQL finds them', async () => {
  const few = encodeURIComponent(JSON.stringify([['reads', '<', '7']]));
  const views: Record<string, string> = {
    '': 'LIMIT 50',
    '?from=50000': 'LIMIT 50 OFFSET 50000',
    '?sort=-reads': 'ORDER BY reads DESC LIMIT 50',
    '?q=headline+77777': `WHERE headline LIKE '%headline 77777%' LIMIT 50`,
    [`?where=${few}`]: 'WHERE reads < 7 ORDER BY _key LIMIT 50',
  };
  const window = await sight.visit('/', { width: 390 });
  for (const [search, clauses] of Object.entries(views)) {
    await go(window, `/datasets/news${search}`);
    expect(await window.page.locator('.heading').first().innerText()).toContain(`${shown} rows`);
    expect([search, await keysIn(window.page)]).toEqual([search, keysOf(`SELECT _key FROM news ${clauses}`)]);
    expect(window.messages).toEqual([]);
  }
});

test('the last page of many rows is reached in one step', async () => {
  const { page } = await sight.visit(`/datasets/news?from=${ROWS - 50}`);
  await page.getByText(`99,951–${shown} of ${shown}`).waitFor();
  expect(await keysIn(page)).toHaveLength(50);
});

test('a search through many rows is given up for another without a trace', async () => {
  const { page, messages } = await sight.visit('/datasets/news');
  const box = page.getByRole('searchbox');
  await box.fill('no row says this');
  await page.waitForURL('**?q=no*');
  await box.fill('headline 99999');
  await page.getByText(`1 of ${shown} rows`).waitFor();
  await settled(page);
  expect(await keysIn(page)).toEqual(['n-99999']);
  expect(messages).toEqual([]);
});

test('the overview counts them, and so does SQL, beside which others are answered', async () => {
  const window = await sight.visit('/');
  expect(await window.page.locator('main').innerText()).toContain(shown);
  const [slow, quick] = await Promise.all([
    sight.visit(`/sql#${new URLSearchParams({ sql: 'SELECT sum(reads) AS reads FROM news' })}`),
    sight.visit('/walks'),
  ]);
  await slow.page.getByRole('cell', { name: /^4,?999,?950,?000$/ }).waitFor();
  expect([window, slow, quick].flatMap(({ messages }) => messages)).toEqual([]);
});
