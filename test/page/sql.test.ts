/** SQL by hand: written, run, ended, drawn and taken along, now and as of then. */

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { sharedLived } from './lived.ts';
import { go, settled, tableIn } from './support.ts';

const lived = await sharedLived();

/** As fast as keys can come. */
async function type(page: Page, sql: string): Promise<void> {
  // What is proposed lies over it.
  await page.getByRole('textbox', { name: 'SQL' }).focus();
  await page.keyboard.press('Control+A');
  await page.keyboard.type(sql);
}

async function run(page: Page, sql: string): Promise<void> {
  await page.getByRole('textbox', { name: 'SQL' }).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(sql);
  await page.keyboard.press('Control+Enter');
}

const answerIn = (page: Page) => tableIn(page, 'Rows of the answer');
const linkTo = (sql: string) => `/sql#${new URLSearchParams({ sql })}`;

test('the editor is loaded once SQL is opened, colours what is written, proposes tables and columns, and runs it by a key', async () => {
  const { page, messages } = await lived.visit('/');
  const isLoaded = () =>
    page.evaluate(() => performance.getEntriesByType('resource').some(({ name }) => /\/editor-/.test(name)));
  expect(await isLoaded()).toBe(false);
  await page.getByRole('navigation').getByRole('link', { name: 'SQL' }).click();
  const code = page.locator('.cm-content');
  await code.waitFor();
  expect(await isLoaded()).toBe(true);
  for (const [sql, proposed] of [
    ['SELECT * FROM smart_w', /^smart_wallets/],
    ["SELECT * FROM ai_signals WHERE asset = 'x' AND entry_p", /^entry_price/],
  ] as const) {
    await type(page, sql);
    await page.locator('.cm-tooltip-autocomplete li').filter({ hasText: proposed }).first().waitFor();
    await page.keyboard.press('Escape');
  }
  const colours = () =>
    code.locator('span').evaluateAll((all) => new Set(all.map((one) => getComputedStyle(one).color)).size);
  await expect.poll(colours).toBeGreaterThanOrEqual(2);
  await run(page, 'SELECT count(*) AS n FROM ai_signals');
  await expect.poll(() => answerIn(page)).toEqual([['n'], ['130']]);
  expect(messages).toEqual([]);

  const address = page.url();
  await page.getByRole('link', { name: 'To the content' }).press('Enter');
  expect(page.url(), 'the query in the address stays').toBe(address);
  await page.getByRole('button', { name: 'As a report' }).click();
  expect(await page.getByRole('dialog').locator('pre').innerText()).toMatch(
    /^-- title: .*\n[\s\S]*\nSELECT count/,
  );
});

test('a query that goes on for ever says how many rows it has brought, and is ended by its button; others are answered', async () => {
  const { page } = await lived.visit('/sql');
  const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)';
  // Rows so long that each is sent at once, and then none for ever.
  await run(page, `${endless} SELECT hex(zeroblob(200000)) AS long FROM n WHERE i <= 3`);
  await page
    .getByText(/[1-9]\d* rows? so far/)
    .first()
    .waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Run' }).waitFor();
  await run(page, 'SELECT 42 AS answer');
  await page.getByRole('cell', { name: '42' }).waitFor();
});

test('parameters get fields, which a link asks for first, and go to SQLite as what was typed', async () => {
  const { page } = await lived.visit(linkTo('SELECT typeof(:a) AS a, typeof(:b) AS b, :b AS c'));
  await page.getByRole('textbox', { name: ':a' }).fill('12');
  expect(await page.getByRole('alert').count()).toBe(0);
  await page.getByRole('textbox', { name: ':b' }).fill("'12'");
  await page.keyboard.press('Enter');
  await expect.poll(async () => (await answerIn(page))[1]).toEqual(['integer', 'text', '12']);
  expect(new URLSearchParams(new URL(page.url()).hash.slice(1)).get('params')).toBe('{"a":12,"b":"12"}');
});

test('a chart is chosen by what the columns hold, and can be another; its numbers are those of the answer', async () => {
  const hourly = `SELECT strftime('%Y-%m-%dT%H:00Z', "timestamp") AS hour, avg(confidence) AS mean FROM ai_signals GROUP BY 1 ORDER BY 1`;
  const window = await lived.visit(linkTo(`SELECT 'a' AS x, 'b' AS y`));
  const { page, messages } = window;
  await page.getByRole('button', { name: 'Chart' }).click();
  await page.getByText('A chart needs a column of numbers').waitFor();
  await go(window, `${linkTo(hourly)}&show=chart`);
  const kind = page.getByRole('combobox', { name: 'Chart', exact: true });
  expect(await kind.inputValue()).toBe('line');
  await page.locator('.plot canvas').waitFor();
  await page.getByRole('figure').getByText('Numbers').click();
  const means = lived.bench.sql<{ mean: number }>(hourly).map(({ mean }) => mean);
  expect((await tableIn(page, /: numbers$/)).slice(1).map(([, mean]) => Number(mean))).toEqual(means);
  await kind.selectOption('bar');
  expect(await page.locator('table.bars tbody tr').count()).toBe(Math.min(100, means.length));
  expect(messages).toEqual([]);
});

test('SQL of then finds what there was, and what is being typed stays', async () => {
  const { page } = await lived.visit(
    linkTo(`SELECT count(*) AS n FROM ai_signals WHERE _key = '${lived.added}'`),
  );
  await expect.poll(() => answerIn(page)).toEqual([['n'], ['1']]);
  await type(page, 'SELECT 2');
  await page.locator('.moment summary').click();
  const field = page.getByRole('dialog', { name: 'Choose a moment' }).locator('input');
  await field.fill(lived.before.slice(0, 16));
  await field.press('Enter');
  await expect.poll(() => answerIn(page)).toEqual([['n'], ['0']]);
  expect(await page.locator('.cm-content').innerText()).toBe('SELECT 2');
  await page.getByRole('link', { name: 'Back to now' }).click();
  await expect.poll(() => answerIn(page)).toEqual([['n'], ['1']]);
});

test('an editor that cannot be loaded says so', async () => {
  const { page } = await lived.visit('/walks');
  await page.route('**/assets/editor-*', (route) => route.abort());
  await page.goto(`${lived.url}/sql`);
  await page.getByRole('alert').getByText('could not be loaded').waitFor();
  await settled(page);
});
