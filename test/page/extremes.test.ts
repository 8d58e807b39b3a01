/** Rows as nobody would wish them, with markup wherever there is text, and so many that whatever reads all of them is felt. */

import { afterAll, expect, test } from 'vitest';
import { orderText } from '../../web/question.ts';
import { faultsToTheEye, go, openSight, settled, tableIn } from './support.ts';

const SCRIPT = `"><img src=x onerror="window.hit = 1"><script>window.hit = 1</script>'; DROP TABLE news; --`;
const ROWS = 10_000;
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
    ...many,
  };
}

test('every view shows markup of others as the text that it is; a long value is opened to its last letter, and 300 columns by their names', async () => {
  const strange = '/datasets/meme-signals';
  const row = `${strange}/rows/${encodeURIComponent(`${SCRIPT} 7`)}`;
  const window = await sight.visit('/');
  const { page } = window;
  for (const path of [
    `${strange}?order=${encodeURIComponent(orderText({ column: SCRIPT, descending: false }))}&q=%3Cimg`,
    ...['/walks/1', '/changes?job=eq.meme-signals', row],
    ...[`SELECT * FROM meme_signals LIMIT 5`, `SELECT '${SCRIPT}`].map(
      (sql) => `/sql#${new URLSearchParams({ sql })}`,
    ),
  ]) {
    await go(window, path);
    const isHit = await page.evaluate(() => 'hit' in globalThis);
    const alive = await page.locator('main img, main script, a[href^="javascript:"]').count();
    expect([path, isHit, alive, await faultsToTheEye(window)]).toEqual([path, false, 0, []]);
  }
  await go(window, row);
  const long = page.getByRole('button', { name: /^25,000 characters/ }).first();
  await long.click();
  expect((await page.getByRole('dialog').locator('pre').innerText()).length).toBe(25_000);
  await page.keyboard.press('Escape');
  await go(window, strange);
  await page.getByText(/^Columns \d+ of \d{3}/).click();
  await page.getByRole('button', { name: 'All', exact: true }).click();
  await settled(page);
  const heads = page.locator('section[aria-label="Rows of meme-signals"] thead th');
  await expect.poll(() => heads.count()).toBeGreaterThan(300);
});

test('rows of many are shown as SQL finds them, to the last page; a search is given up for another without a trace', async () => {
  const window = await sight.visit('/');
  const { page, messages } = window;
  const keys = async () => (await tableIn(page, 'Rows of news')).slice(1).map(([key = '']) => key);
  for (const [search, clauses] of [
    [`?order=_changed_at.desc&offset=${ROWS - 50}`, `LIMIT 50 OFFSET ${ROWS - 50}`],
    ['?order=reads.desc', 'ORDER BY reads DESC LIMIT 50'],
    ['?order=_key&reads=lt.7', 'WHERE reads < 7 ORDER BY _key LIMIT 50'],
  ]) {
    await go(window, `/datasets/news${search}`);
    expect(await page.locator('.heading').first().innerText()).toContain(`${shown} rows`);
    const expected = bench.sql<{ _key: string }>(`SELECT _key FROM news ${clauses}`).map(({ _key }) => _key);
    expect([search, await keys()]).toEqual([search, expected]);
  }
  await go(window, '/datasets/news');
  const box = page.getByRole('searchbox');
  await box.fill('no row says this');
  await page.waitForURL('**?q=no*');
  await box.fill(`headline ${ROWS - 1}`);
  await page.getByText(`1 of ${shown} rows`).waitFor();
  await settled(page);
  expect([await keys(), messages]).toEqual([[`n-${ROWS - 1}`], []]);
});
