/** A dataset by hand: its rows found, chosen, charted and taken along. */

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { sharedLived } from './lived.ts';
import { go, settled, tableIn } from './support.ts';

const lived = await sharedLived();
const region = 'Rows of ai-signals';
const count = (where: string, table = 'ai_signals') =>
  lived.bench.sql(`SELECT 1 FROM ${table} WHERE ${where}`).length;

async function downloaded(page: Page, format: string) {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: format }).click(),
  ]);
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  const lines = Buffer.concat(chunks).toString().trim().split(/\r?\n/);
  return { name: download.suggestedFilename(), lines };
}

/** Of the rows that are shown; long ones are cut, and whole in the title of their link. */
const keysIn = (page: Page) =>
  page
    .getByRole('region', { name: region })
    .locator('tbody tr td:first-child a')
    .evaluateAll((links) => links.map((link) => link.getAttribute('title') ?? ''));

test('grade A by confidence is three clicks from the overview, and its download has every row and column, with a receipt', async () => {
  const { page } = await lived.visit('/');
  await page.getByRole('navigation').getByRole('link', { name: 'ai-signals' }).click();
  const grades = page.getByRole('region', { name: 'Values of quality_grade' });
  await grades.getByRole('link', { name: /^A/ }).click();
  await page.getByRole('button', { name: 'confidence' }).click();
  await page.waitForURL('**order=confidence.desc*');
  const best = lived.bench.sql<{ confidence: number; _key: string }>(
    `SELECT * FROM ai_signals WHERE quality_grade = 'A' ORDER BY confidence DESC NULLS LAST, _key`,
  );
  await page.getByText(`${best.length} of ${count('1')} rows`).waitFor();
  await settled(page);
  expect(await keysIn(page)).toEqual(best.map(({ _key }) => _key).slice(0, 50));
  // Other grades can still be chosen.
  await grades.getByRole('link', { name: `B ${count(`quality_grade = 'B'`)}`, exact: true }).waitFor();

  await page.getByText('Download', { exact: true }).click();
  const { name, lines } = await downloaded(page, 'CSV');
  expect(name).toMatch(/^ai-signals_quality_grade-A-\d{8}T\d{6}Z\.csv$/);
  expect([lines[0], lines.length]).toEqual([Object.keys(best[0] ?? {}).join(), 1 + best.length]);
  const href = await page.getByRole('link', { name: 'Its receipt', exact: true }).getAttribute('href');
  const receipt = await page.request.get(`${lived.url}${href}`);
  expect(await receipt.json()).toMatchObject({ rows: best.length, sources: [{ job: 'ai-signals' }] });
  await page.getByRole('checkbox', { name: 'Visible columns only' }).check();
  const heads = Object.keys(JSON.parse((await downloaded(page, 'NDJSON')).lines[0] ?? '{}') as object);
  expect([heads.length < 15, heads.includes('quality_grade')]).toEqual([true, true]);
});

test('rows are all there, page by page, and found by a text, a click on a cell and the menu, which offers what it can find', async () => {
  const window = await lived.visit('/datasets/ai-signals');
  const { page } = window;
  const all = count('1');
  const seen = await keysIn(page);
  for (const from of [50, 100]) {
    await page.getByRole('button', { name: 'next page' }).click();
    await page.getByText(`${from + 1}–${Math.min(from + 50, all)} of ${all}`).waitFor();
    await settled(page);
    seen.push(...(await keysIn(page)));
  }
  const keys = lived.bench.sql<{ _key: string }>('SELECT _key FROM ai_signals').map(({ _key }) => _key);
  expect(seen.sort()).toEqual(keys.sort());

  await page.getByRole('searchbox').fill(lived.changed);
  await page.getByText(`1 of ${all} rows`).waitFor();
  await go(window, '/datasets/ai-signals');
  const cell = page.getByRole('region', { name: region }).getByRole('cell', { name: 'SELL', exact: true });
  await cell.first().click();
  await page.getByText(`${count(`action = 'SELL'`)} of ${all} rows`).waitFor();
  await page.getByText('Filter', { exact: true }).click();
  await page.getByRole('combobox', { name: 'Column' }).selectOption('quality_grade');
  const offered = await page
    .locator('datalist option')
    .evaluateAll((all) => all.map((one) => one.getAttribute('value')));
  expect(offered.sort()).toEqual(['A', 'B', 'C', 'REJECT']);
  await page.getByRole('combobox', { name: 'Value' }).fill('A');
  await page.keyboard.press('Enter');
  await page.getByText(`${count(`action = 'SELL' AND quality_grade = 'A'`)} of ${all} rows`).waitFor();
  await page.getByRole('link', { name: 'Clear all' }).click();
  await page.getByText('1–50 of 130').waitFor();
});

test('columns are chosen, told what they mean, and a link shows the same ones; times are those of this place on demand', async () => {
  const { page } = await lived.visit('/datasets/ai-signals');
  const headsIn = async () => (await tableIn(page, region))[0];
  const title = page.getByRole('columnheader', { name: 'quality_grade' }).getAttribute('title');
  expect(await title).toBe('quality.grade: A, B, C, REJECT');
  await page.getByText(/^Columns \d+ of/).click();
  for (const name of ['asset', 'action', 'status', 'entry_price', 'tp_price', 'sl_price', 'confidence'])
    await page.getByRole('checkbox', { name: new RegExp(`^${name}\\b`) }).uncheck();
  await expect.poll(headsIn).toEqual(['row', expect.stringMatching('timestamp'), 'quality_grade', 'changed']);
  const time = page.getByRole('region', { name: region }).locator('td time').last();
  expect(await time.innerText()).toMatch(/ago$/);
  expect(await time.getAttribute('title')).toMatch(/^2026-11-21 \d\d:\d\d:\d\d\.\d{3} UTC\n/);
  await page.locator('nav').getByLabel('Times').selectOption({ label: 'Local time' });
  await page.reload();
  await expect.poll(() => time.getAttribute('title')).toMatch(/^2026-11-21 \d\d:\d\d:\d\d\.\d{3} \+01:00\n/);
  expect((await headsIn())?.length).toBe(4);
  await page.getByText(/^Columns \d+ of/).click();
  await page.getByRole('button', { name: 'Default columns' }).click();
  await expect.poll(async () => (await headsIn())?.length).toBeGreaterThan(8);
});

test('a chart is a question in SQL, split by a column, and what one draws across chooses its rows', async () => {
  const { page, messages } = await lived.visit('/datasets/ai-signals?quality_grade=eq.A');
  await page.getByText('Chart', { exact: true }).click();
  await page.getByRole('combobox', { name: 'split by' }).selectOption('action');
  await page.getByRole('link', { name: 'Draw' }).click();
  const actions = lived.bench.sql<{ action: string }>(
    `SELECT DISTINCT action FROM ai_signals WHERE quality_grade = 'A' ORDER BY 1`,
  );
  const legend = page.getByRole('figure').locator('.legend li');
  await expect
    .poll(async () => (await legend.allInnerTexts()).sort())
    .toEqual(actions.map((one) => one.action));
  await settled(page);
  const drawing = await page.locator('.plot .u-over').boundingBox();
  if (!drawing) throw new Error('nothing is drawn');
  const rows = () => page.locator('.answer header b').innerText();
  const before = await rows();
  await page.mouse.move(drawing.x + 2, drawing.y + 50);
  await page.mouse.down();
  await page.mouse.move(drawing.x + drawing.width * 0.4, drawing.y + 60, { steps: 3 });
  await page.mouse.up();
  await page.waitForURL(/%22until%22%3A%2220/);
  await expect.poll(rows).not.toBe(before);
  expect(messages).toEqual([]);
});

test('lists are filtered by dataset, time by the clock that is shown, and text; a link keeps that', async () => {
  const { page } = await lived.visit('/calls?job=eq.ai-signals');
  const shown = (where: string) =>
    page.getByText(new RegExp(`^${count(where, 'requests')} calls? in all$`)).waitFor();
  await shown(`job = 'ai-signals'`);
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByLabel(/^From/).fill('2026-11-21T14:00');
  await page.waitForURL('**/calls?from=2026-11-21T14:00*');
  await shown(`at >= '2026-11-21T14:00'`);
  await page.locator('nav').getByLabel('Times').selectOption({ label: 'Local time' });
  await page.getByLabel(/^From/).fill('2026-11-21T14:00');
  await page.waitForURL('**from=2026-11-21T13:00*');
  await shown(`at >= '2026-11-21T13:00'`);
  await page.getByRole('button', { name: 'Clear filters' }).click();
  const [call] = lived.bench.sql<{ id: string }>('SELECT max(request_id) AS id FROM requests');
  await page.getByRole('searchbox', { name: 'X-Request-ID' }).fill(call?.id ?? '');
  await shown(`request_id = '${call?.id}'`);
});
