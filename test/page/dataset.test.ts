/** A dataset: its rows, found, chosen, charted and taken along; the life of one. */

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { sharedLived } from './lived.ts';
import { go, settled, tableIn } from './support.ts';

const lived = await sharedLived();

const region = 'Rows of ai-signals';

/** What a column of the table shows. */
async function shownIn(page: Page, column: string): Promise<string[]> {
  await settled(page);
  const [heads = [], ...lines] = await tableIn(page, region);
  const at = heads.findIndex((head) => head.startsWith(column));
  return lines.map((line) => line[at] ?? 'no such column');
}

async function textOf(page: Page, begin: () => Promise<void>) {
  const [download] = await Promise.all([page.waitForEvent('download'), begin()]);
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  return {
    name: download.suggestedFilename(),
    lines: Buffer.concat(chunks).toString().trim().split(/\r?\n/),
  };
}

/** Of the rows that are shown; long ones are cut, and whole in the title of their link. */
const keysIn = (page: Page, region = 'Rows of ai-signals') =>
  page
    .getByRole('region', { name: region })
    .locator('tbody tr td:first-child a')
    .evaluateAll((links) => links.map((link) => link.getAttribute('title') ?? ''));

const keysOf = (sql: string) => lived.bench.sql<{ _key: string }>(sql).map(({ _key }) => _key);

test('rows are all there, page by page, also those that went and those of a dataset that nobody described', async () => {
  const window = await lived.visit('/datasets/ai-signals');
  const { page } = window;
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

  // Each that went with the walk that proved it.
  await go(window, '/datasets/ai-signals?show=removed');
  const region = 'Removed rows of ai-signals';
  expect(await keysIn(page, region)).toEqual([lived.removed]);
  const [walk] = lived.bench.sql<{ id: number }>('SELECT id FROM walks WHERE deleted > 0');
  const by = page.getByRole('region', { name: region }).getByText(`by walk ${walk?.id}`);
  await by.first().waitFor();

  await go(window, '/datasets/news');
  const [heads = []] = await tableIn(page, 'Rows of news');
  expect(heads.length).toBeGreaterThan(4);
  expect((await keysIn(page, 'Rows of news')).length).toBe(50);
});

test('a row tells its whole life: what changed, when, and by which walk and call, with names in one piece on a small screen', async () => {
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

  await page.setViewportSize({ width: 390, height: 800 });
  await settled(page);
  const values = page.getByRole('region', { name: 'Values of version 2' });
  const linesOf = (name: string) =>
    values.getByRole('rowheader', { name, exact: true }).evaluate((cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return range.getClientRects().length;
    });
  expect(await Promise.all(['id', 'timestamp', 'quality_freshness'].map(linesOf))).toEqual([1, 1, 1]);
});

test('grade A by confidence is three clicks from the overview, and its download has every row and column', async () => {
  const { page } = await lived.visit('/');
  await page.getByRole('navigation').getByRole('link', { name: 'ai-signals' }).click();
  await page
    .getByRole('region', { name: 'Values of quality_grade' })
    .getByRole('link', { name: /^A/ })
    .click();
  await page.getByRole('button', { name: 'confidence' }).click();
  await page.waitForURL('**order=confidence.desc*');

  const sql = `SELECT * FROM ai_signals WHERE quality_grade = 'A' ORDER BY confidence DESC NULLS LAST, _key`;
  const best = lived.bench.sql<{ confidence: number; _key: string }>(sql);
  const all = lived.bench.sql('SELECT 1 FROM ai_signals').length;
  await page.getByText(`${best.length} of ${all} rows`).waitFor();
  await settled(page);
  expect((await shownIn(page, 'confidence')).map(Number)).toEqual(
    best.slice(0, 50).map(({ confidence }) => confidence),
  );
  expect(new Set(await shownIn(page, 'quality_grade'))).toEqual(new Set(['A']));
  // Other grades can still be chosen.
  const b = lived.bench.sql(`SELECT 1 FROM ai_signals WHERE quality_grade = 'B'`).length;
  await page
    .getByRole('region', { name: 'Values of quality_grade' })
    .getByRole('link', { name: `B ${b}`, exact: true })
    .waitFor();

  await page.getByText('Download', { exact: true }).click();
  const { name, lines } = await textOf(page, () => page.getByRole('button', { name: 'CSV' }).click());
  expect(name).toMatch(/^ai-signals_quality_grade-A-\d{8}T\d{6}Z\.csv$/);
  expect(lines[0]).toBe(Object.keys(best[0] ?? {}).join());
  expect(lines).toHaveLength(1 + best.length);
  const receipt = await page.getByRole('link', { name: 'Its receipt' }).getAttribute('href');
  const answer = await page.request.get(`${lived.url}${receipt}`);
  expect(await answer.json()).toMatchObject({ rows: best.length, sources: [{ job: 'ai-signals' }] });

  await page.getByRole('checkbox', { name: 'Visible columns only' }).check();
  const narrow = await textOf(page, () => page.getByRole('button', { name: 'NDJSON' }).click());
  const heads = Object.keys(JSON.parse(narrow.lines[0] ?? '{}') as object);
  expect([heads.length < 15, heads.includes('quality_grade')]).toEqual([true, true]);
  const json = await page.request.get(
    `${lived.url}${await page.getByRole('link', { name: 'JSON', exact: true }).getAttribute('href')}`,
  );
  expect(((await json.json()) as { _key: string }[]).map(({ _key }) => _key)).toEqual(
    best.slice(0, 50).map(({ _key }) => _key),
  );
});

test('rows are found by a text, by a click on a cell, and by the menu, which closes then; a wrong value is told', async () => {
  const window = await lived.visit('/datasets/ai-signals');
  const { page } = window;
  const all = lived.bench.sql('SELECT 1 FROM ai_signals').length;
  await page.getByRole('searchbox').fill(lived.changed);
  await page.getByText(`1 of ${all} rows`).waitFor();
  expect(await shownIn(page, 'row')).toEqual([lived.changed]);

  await go(window, '/datasets/ai-signals');
  await page
    .getByRole('region', { name: region })
    .getByRole('cell', { name: 'SELL', exact: true })
    .first()
    .click();
  const sells = lived.bench.sql(`SELECT 1 FROM ai_signals WHERE action = 'SELL'`).length;
  await page.getByText(`${sells} of ${all} rows`).waitFor();

  await page.getByText('Filter', { exact: true }).click();
  await page.getByRole('combobox', { name: 'Column' }).selectOption('validator_allowed');
  await page
    .getByRole('textbox', { name: 'Value' })
    .or(page.getByRole('combobox', { name: 'Value' }))
    .fill('true');
  await page.keyboard.press('Enter');
  const both = lived.bench.sql(`SELECT 1 FROM ai_signals WHERE action = 'SELL' AND validator_allowed`).length;
  await page.getByText(`${both} of ${all} rows`).waitFor();
  expect(await page.getByRole('combobox', { name: 'Column' }).isVisible()).toBe(false);
  await page.getByRole('link', { name: 'Clear all' }).click();
  await page.getByText('1–50 of 130').waitFor();
  await go(window, '/datasets/ai-signals?confidence=gt.high');
  await page.getByRole('alert').getByText('column confidence takes a number, not "high"').waitFor();
});

test('columns are chosen, told what they mean, and a link shows the same ones', async () => {
  const { page } = await lived.visit('/datasets/ai-signals');
  const head = page.getByRole('columnheader', { name: 'quality_grade' });
  expect(await head.getAttribute('title')).toBe('quality.grade: A, B, C, REJECT');
  await page.getByText(/^Columns \d+ of/).click();
  for (const name of [
    'timestamp',
    'asset',
    'action',
    'status',
    'entry_price',
    'tp_price',
    'sl_price',
    'confidence',
  ])
    await page.getByRole('checkbox', { name: new RegExp(`^${name}\\b`) }).uncheck();
  const headsIn = async () => {
    await settled(page);
    return (await tableIn(page, region))[0];
  };
  await expect.poll(headsIn).toEqual(['row', 'quality_grade', 'changed']);
  await page.reload();
  expect(await headsIn()).toEqual(['row', 'quality_grade', 'changed']);
  await page.getByText(/^Columns \d+ of/).click();
  await page.getByRole('button', { name: 'Default columns' }).click();
  await expect.poll(async () => (await headsIn())?.length).toBeGreaterThan(8);
});

test('cells fit what they hold: ages, rounded numbers below each other, addresses, words, a dash for null', async () => {
  const window = await lived.visit('/datasets/news');
  const { page } = window;
  await page.getByText(/^Columns \d+ of/).click();
  await page.getByRole('button', { name: 'All', exact: true }).click();
  await settled(page);
  const rows = page.getByRole('region', { name: 'Rows of news' });
  const link = rows.locator('td a[href^="https://"]').first();
  expect(await link.getAttribute('rel')).toContain('noopener');
  const time = rows.locator('td time').first();
  expect(await time.innerText()).toMatch(/ago$|^in /);
  expect(await time.getAttribute('title')).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC\n/);
  const alignments = await rows
    .locator('th.number, td.number')
    .evaluateAll((cells) => [...new Set(cells.map((cell) => getComputedStyle(cell).textAlign))]);
  expect(alignments).toEqual(['right']);
  const sql = `SELECT 34482.1854989773 AS price, 1088622721 AS alert_id, 1088622721 AS volume, NULL AS none,
  '0x089cfc81278bb5f99db5396006c58f0b1326de75' AS address, '["a","b"]' AS tags, 0.9 AS score UNION ALL SELECT 1, 2, 3, 4, 'x', '[]', 0.59`;
  await go(window, `/sql#${new URLSearchParams({ sql })}`);
  expect((await tableIn(page, 'Rows of the answer'))[1]).toEqual([
    ...['34,482.2', '1088622721', '1,088,622,721', '–', '0x089cfc81…6de75', 'a, b', '0.90'],
  ]);
  expect(await page.getByText('34,482.2').getAttribute('title')).toBe('34,482.1854989773');
});

test('the menu of filters offers values that it can find: neither “null” nor “empty”', async () => {
  const { page } = await lived.visit('/datasets/news');
  const values = page
    .getByRole('region', { name: /^Values of/ })
    .filter({ has: page.getByText('null', { exact: true }) })
    .first();
  const column = (await values.getByRole('heading').innerText()).trim();
  const [some] = lived.bench.sql<{ value: string }>(
    `SELECT "${column}" AS value FROM news WHERE "${column}" IS NOT NULL LIMIT 1`,
  );
  await page.getByText('Filter', { exact: true }).click();
  await page.getByRole('combobox', { name: 'Column' }).selectOption(column);
  const offered = await page
    .locator('datalist option')
    .evaluateAll((options) => options.map((option) => (option as HTMLOptionElement).value));
  expect(offered).toContain(some?.value);
  expect(offered).not.toContain('null');
});

test('removed rows are shown whatever was asked of held ones, and are sorted by when they went; the order is in the SQL', async () => {
  const window = await lived.visit('/datasets/ai-signals?_held_since=not.is.null');
  const { page } = window;
  const region = 'Removed rows of ai-signals';
  await page.getByText('No rows match.').waitFor();
  // An address may have been written by hand.
  await go(window, '/datasets/ai-signals?show=removed&order=_held_since.desc&_held_since=not.is.null');
  expect(await keysIn(page, region)).toEqual([lived.removed]);
  const heads = page.getByRole('region', { name: region }).getByRole('columnheader');
  await heads.getByRole('button', { name: /^removed/ }).click();
  await page.waitForURL('**order=_valid_to.asc*');
  await settled(page);
  const link = await page.getByRole('link', { name: 'Open as SQL' }).getAttribute('href');
  const sql = new URLSearchParams(link?.split('#')[1]).get('sql');
  expect(sql).toMatch(
    /^SELECT "_key", .*\nFROM "ai_signals_history"\nWHERE .*\nORDER BY "_valid_to" ASC NULLS LAST/,
  );
});

test('a chart is a question in SQL: of a number by the hour, split by a column, and what one draws across chooses its rows', async () => {
  const window = await lived.visit('/datasets/ai-signals?quality_grade=eq.A');
  const { page, messages } = window;
  await page.getByText('Chart', { exact: true }).click();
  await page.getByRole('combobox', { name: 'split by' }).selectOption('action');
  await page.getByRole('link', { name: 'Draw' }).click();
  const legend = page.getByRole('figure').locator('.legend li');
  const actions = lived.bench.sql<{ action: string }>(
    `SELECT DISTINCT action FROM ai_signals WHERE quality_grade = 'A' ORDER BY 1`,
  );
  await expect
    .poll(async () => (await legend.allInnerTexts()).sort())
    .toEqual(actions.map((one) => one.action));
  await settled(page);
  const drawing = await page.locator('.plot .u-over').boundingBox();
  if (!drawing) throw new Error('nothing is drawn');
  const before = await page.locator('.answer header b').innerText();
  await page.mouse.move(drawing.x + 2, drawing.y + 50);
  await page.mouse.down();
  await page.mouse.move(drawing.x + drawing.width * 0.4, drawing.y + 60, { steps: 3 });
  await page.mouse.up();
  await page.waitForURL(/%22until%22%3A%2220/);
  await expect.poll(() => page.locator('.answer header b').innerText()).not.toBe(before);

  const sql = `SELECT strftime('%Y-%m-%dT%H:00Z', "timestamp") AS hour, avg(confidence) AS mean,
    min(confidence) AS smallest, max(confidence) AS largest FROM ai_signals GROUP BY 1 ORDER BY 1`;
  await go(window, `/sql#${new URLSearchParams({ sql, show: 'chart' })}`);
  await page.getByRole('figure').getByText('Numbers').click();
  const [, ...lines] = await tableIn(page, /: numbers$/);
  const days = lived.bench.sql<Record<string, number>>(sql);
  expect(lines.map((line) => line.slice(1).map(Number))).toEqual(
    days.map((day) => [day['mean'], day['smallest'], day['largest']]),
  );
  expect(messages).toEqual([]);
});

test('fields are told with their meaning, and those that were discovered with an example', async () => {
  const window = await lived.visit('/datasets/ai-signals?show=fields');
  const { page } = window;
  const grade = (await tableIn(page, 'Fields of ai-signals')).find(([name]) => name === 'quality_grade');
  expect(grade?.[2]).toBe('quality.grade: A, B, C, REJECT');
  await go(window, '/datasets/news?show=fields');
  const text = await page.locator('main').innerText();
  for (const { path } of lived.bench.sql<{ path: string }>(`SELECT path FROM fields WHERE job = 'news'`))
    expect(text).toContain(path);
});
