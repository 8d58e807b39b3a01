import { afterAll, beforeAll, expect, test } from 'vitest';
import { faultsToTheEye, openSight, type Sight, settled, sweep } from './support.ts';

const SCRIPT = `"><img src=x onerror="window.hit = 1"><script>window.hit = 1</script>'; DROP TABLE news; --`;

/** Rows as nobody would wish them: markup in names, values and keys, a column for everything. */
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

let sight: Sight;
beforeAll(async () => {
  sight = await openSight({ rows: 0, walked: [] });
  const { bench } = sight;
  bench.model.data.news.rows = Array.from({ length: 12 }, (_, at) => strangeRow(at)) as never;
  await bench.mirror('news');
  // What the API says of an error is told to people, too.
  bench.tamper(`UPDATE walks SET error = '${SCRIPT.replaceAll("'", "''")}'`);
  bench.clock.advance(60_000);
});
afterAll(() => sight.close());

const key = () => encodeURIComponent(`${SCRIPT} 7`);

test('every view shows it as the text that it is', async () => {
  const views = [
    ...['/', '/datasets/news', `/datasets/news?sort=${encodeURIComponent(SCRIPT)}&q=%3Cimg`],
    ...[`/datasets/news/rows/${key()}`, '/walks', '/walks/1', '/problems?job=news'],
    `/sql#${new URLSearchParams({ sql: 'SELECT * FROM news LIMIT 5' })}`,
    `/sql#${new URLSearchParams({ sql: `SELECT '${SCRIPT}` })}`,
  ];
  const found = await sweep(sight, views, {}, async (window) => {
    const { page } = window;
    const isHit = await page.evaluate(() => 'hit' in globalThis);
    const alive = await page.locator('main img, main script, a[href^="javascript:"]').count();
    const live = isHit || alive > 0 ? ['markup is alive'] : [];
    return [...live, ...(await faultsToTheEye(window))];
  });
  expect(found).toEqual([]);
});

test('a long value is opened on demand, to its last letter', async () => {
  const { page } = await sight.visit(`/datasets/news/rows/${key()}`);
  await page
    .getByRole('button', { name: /^25,000 characters/ })
    .first()
    .click();
  expect((await page.getByRole('dialog').locator('pre').innerText()).length).toBe(25_000);
});

test('names of columns are asked for as they are', async () => {
  const { page } = await sight.visit('/datasets/news');
  const [row] = sight.bench.sql<{ n: number }>(`SELECT count(*) AS n FROM pragma_table_xinfo('news')`);
  expect(row?.n).toBeGreaterThan(300);
  await page.getByText(/^Columns \d+ of \d{3}/).click();
  const boxes = page.getByRole('checkbox');
  expect(await boxes.count()).toBeGreaterThan(300);
  await page.getByRole('button', { name: 'All', exact: true }).click();
  await settled(page);
  expect(
    await page.getByRole('region', { name: 'Rows of news' }).getByRole('columnheader').count(),
  ).toBeGreaterThan(300);
});
