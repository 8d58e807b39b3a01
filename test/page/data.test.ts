import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Lived, openLived } from './lived.ts';
import { rowsOf, settled, tableIn } from './support.ts';

let lived: Lived;
beforeAll(async () => {
  lived = await openLived();
});
afterAll(() => lived.close());

/** Of the rows that are shown; long ones are cut, and whole in the title of their link. */
const keysIn = (page: Page, region = 'Rows of ai-signals') =>
  page
    .getByRole('region', { name: region })
    .locator('tbody tr td:first-child a')
    .evaluateAll((links) => links.map((link) => link.getAttribute('title') ?? ''));

const keysOf = (sql: string) => lived.bench.sql<{ _key: string }>(sql).map(({ _key }) => _key);

describe('rows', () => {
  test('are all there, page by page', async () => {
    const { page } = await lived.visit('/datasets/ai-signals');
    const keys = keysOf('SELECT _key FROM ai_signals');
    expect(await page.locator('.heading').first().innerText()).toContain(`${keys.length} rows`);
    const seen = await keysIn(page);
    for (const from of [50, 100]) {
      await page.getByRole('button', { name: 'next page' }).click();
      await page.getByText(`${from + 1}–${Math.min(from + 50, keys.length)} of ${keys.length}`).waitFor();
      await settled(page);
      seen.push(...(await keysIn(page)));
    }
    expect(seen.sort()).toEqual(keys.sort());
  });

  test('that went are listed, each with the walk that proved it', async () => {
    const { page } = await lived.visit('/datasets/ai-signals?show=removed');
    const region = 'Removed rows of ai-signals';
    expect(await keysIn(page, region)).toEqual([lived.removed]);
    const [walk] = lived.bench.sql<{ id: number }>('SELECT id FROM walks WHERE deleted > 0');
    const walks = page
      .getByRole('region', { name: region })
      .getByRole('link', { name: String(walk?.id), exact: true });
    expect(await walks.count()).toBeGreaterThan(0);
  });

  test('of a dataset that nobody described have columns, too', async () => {
    const { page } = await lived.visit('/datasets/news');
    const [heads = []] = await tableIn(page, 'Rows of news');
    expect(heads.length).toBeGreaterThan(4);
    expect((await keysIn(page, 'Rows of news')).length).toBe(50);
  });
});

test('a row tells its whole life: what changed, when, and by which walk and call', async () => {
  const { page } = await lived.visit('/datasets/ai-signals');
  await page.getByRole('link', { name: lived.changed }).click();
  await page.getByRole('heading', { name: lived.changed }).waitFor();
  await page
    .getByRole('heading', { name: /^Version/ })
    .first()
    .waitFor();
  expect(await page.getByRole('heading', { name: /^Version/ }).allInnerTexts()).toEqual([
    ...['Version 2: changed', 'Version 1: first seen'],
  ]);
  await page.getByRole('button', { name: 'Copy the key' }).waitFor();
  const [before] = lived.bench.sql<{ confidence: number; status: string }>(
    `SELECT confidence, status FROM ai_signals_history WHERE _key = ?`,
    lived.changed,
  );
  const changes = await tableIn(page, 'What version 2 changed');
  expect(changes).toContainEqual(['confidence', String(before?.confidence), '0.123']);
  const [call] = lived.bench.sql<{ request_id: string }>(
    `SELECT request_id FROM requests WHERE walk_id = (SELECT _walk_id FROM ai_signals WHERE _key = ?) ORDER BY id`,
    lived.changed,
  );
  expect(await page.locator('main').innerText()).toContain(call?.request_id);
});

test('the names of its values are in one piece on a small screen', async () => {
  const { page } = await lived.visit(`/datasets/ai-signals/rows/${lived.changed}`, { width: 390 });
  const values = page.getByRole('region', { name: 'Values of version 2' });
  const linesOf = (name: string) =>
    values.getByRole('rowheader', { name, exact: true }).evaluate((cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return range.getClientRects().length;
    });
  expect(await Promise.all(['id', 'timestamp', 'quality_freshness'].map(linesOf))).toEqual([1, 1, 1]);
});

test('a chart counts rows by day, as SQL counts them', async () => {
  const { page } = await lived.visit('/datasets/ai-signals?show=chart&time=timestamp&by=day');
  const figure = page.getByRole('figure');
  await figure.getByText('Numbers').click();
  const days = lived.bench.sql<{ day: string; n: number }>(
    'SELECT date(timestamp) AS day, count(*) AS n FROM ai_signals GROUP BY 1 ORDER BY 1',
  );
  const [, ...lines] = await tableIn(page, /: numbers$/);
  expect(lines).toEqual(days.map(({ day, n }) => [`${day} 00:00:00 UTC`, String(n)]));
});

describe('as of a moment', () => {
  test('rows are those of then, and links keep the moment', async () => {
    const { page } = await lived.visit(`/datasets/ai-signals?at=${lived.before}&q=${lived.removed}`);
    expect(await keysIn(page)).toEqual([lived.removed]);
    await page.getByRole('link', { name: lived.removed }).click();
    await page.waitForURL(`**/rows/${lived.removed}?at=*`);
    await page.getByText('Version at this moment: 1').waitFor();
    await page.goto(`${lived.url}/datasets/ai-signals?at=${lived.before}&q=${lived.added}`);
    await page.getByText('No rows match.').waitFor();
  });

  test('the life of a row ends then, and is compared with now', async () => {
    const { page } = await lived.visit(`/datasets/ai-signals/rows/${lived.changed}?at=${lived.before}`);
    expect(await page.getByRole('heading', { name: /^Version/ }).count()).toBe(1);
    expect(await page.locator('main').innerText()).toContain('1 version came later');
    const differing = await tableIn(page, 'What differs from now');
    expect(differing.map(([value, , now]) => [value, now])).toContainEqual(['confidence', '0.123']);
  });

  test('rows that differ from now are counted, and linked', async () => {
    const { page } = await lived.visit(`/datasets/ai-signals?at=${lived.before}`);
    const link = page.getByRole('link', { name: '1 new, 1 gone, 1 changed' });
    expect(await link.getAttribute('href')).toBe(`/changes?job=ai-signals&from=${lived.before}`);
  });

  test('the overview and SQL show what was, and say so', async () => {
    const { page } = await lived.visit(`/?at=${lived.before}`);
    expect(await rowsOf(page, 'ai-signals').innerText()).toBe('130');
    const sql = `SELECT confidence FROM ai_signals WHERE id = '${lived.changed}'`;
    await page.goto(`${lived.url}/sql?at=${lived.before}#${new URLSearchParams({ sql })}`);
    const [line] = (await tableIn(page, 'Rows of the answer')).slice(1);
    expect(line).not.toEqual(['0.123']);
    expect(await page.locator('main').innerText()).not.toContain('old');
  });

  test('one way leads back to now', async () => {
    const { page } = await lived.visit(`/walks?at=${lived.before}`);
    await page.getByRole('link', { name: 'Back to now' }).click();
    await page.waitForURL(`${lived.url}/walks`);
  });
});
