/** A dataset: its rows, found, chosen, charted and taken along; the life of one. */

import type { Page } from 'playwright-core';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { isoTime } from '../../src/clock.ts';
import { gate } from '../helpers/gate.ts';
import { openLived } from './lived.ts';
import { go, openSight, settled, tableIn } from './support.ts';

const lived = await openLived();
afterAll(lived.close);

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
  const walks = page
    .getByRole('region', { name: region })
    .getByRole('link', { name: String(walk?.id), exact: true });
  expect(await walks.count()).toBeGreaterThan(0);

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
  await page.waitForURL('**&sort=-confidence*');

  const sql = `SELECT * FROM ai_signals WHERE quality_grade = 'A' ORDER BY confidence DESC NULLS LAST, _key`;
  const best = lived.bench.sql<{ confidence: number; _key: string }>(sql);
  const all = lived.bench.sql('SELECT 1 FROM ai_signals').length;
  await page.getByText(`${best.length} of ${all} rows`).waitFor();
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

test('rows are found by a text, by a click on a cell or on “held”, and by the menu, which closes then', async () => {
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

  // Held rows are marked.
  lived.bench.tamper(
    `UPDATE _news_rows SET _held_since = _changed_at, _held_reason = 'unproven' WHERE rowid % 2 = 0`,
  );
  await go(window, '/datasets/news');
  await page.getByRole('link', { name: 'held', exact: true }).first().click();
  await page.waitForURL('**?where=*_held_since*');
  const [held] = lived.bench.sql<{ n: number }>(
    'SELECT count(*) AS n FROM news WHERE _held_since IS NOT NULL',
  );
  await page.getByText(`${held?.n} of 130 rows`).waitFor();
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
  await expect.poll(headsIn).toEqual(['row', 'quality_grade', 'changed▼']);
  await page.reload();
  expect(await headsIn()).toEqual(['row', 'quality_grade', 'changed▼']);
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

test('a column of numbers is charted by day, as SQL counts it', async () => {
  const { page } = await lived.visit(
    '/datasets/ai-signals?show=chart&value=confidence&time=timestamp&by=day',
  );
  await page.getByRole('figure').getByText('Numbers').click();
  const [, ...lines] = await tableIn(page, /: numbers$/);
  const days = lived.bench.sql<{ avg: number; min: number; max: number }>(
    `SELECT avg(confidence) AS avg, min(confidence) AS min, max(confidence) AS max
     FROM ai_signals GROUP BY date(timestamp) ORDER BY date(timestamp)`,
  );
  expect(lines.map((line) => line.slice(1).map(Number))).toEqual(
    days.map(({ avg, min, max }) => [avg, min, max]),
  );

  // Until the numbers of another choice are there, the chart is pale, and says what its numbers are of.
  const held = gate();
  await page.route('**/page/query', async (route) => {
    await held.passed;
    await route.continue();
  });
  await page.getByRole('combobox', { name: 'Show' }).selectOption('entry_price');
  await page.getByRole('combobox', { name: 'by', exact: true }).selectOption('hour');
  const card = page.locator('.card', { has: page.getByRole('figure') });
  await page.locator('.card.old').waitFor();
  expect(await card.innerText()).toContain('confidence of ai-signals by day');
  held.open();
  await page.getByText('entry_price of ai-signals by hour').waitFor();
  await page.unroute('**/page/query');
  expect(await page.locator('.card.old').count()).toBe(0);
});

test('a chart is split by a column, and what one draws across chooses its rows', async () => {
  const { page } = await lived.visit('/datasets/ai-signals?show=chart&time=timestamp&by=hour');
  await page.getByRole('combobox', { name: 'split by' }).selectOption('action');
  const legend = page.getByRole('figure').locator('.legend li');
  const actions = lived.bench.sql<{ action: string }>(
    'SELECT action FROM ai_signals GROUP BY 1 ORDER BY count(*) DESC, 1',
  );
  await expect.poll(() => legend.allInnerTexts()).toEqual(actions.map(({ action }) => action));
  await settled(page);
  const drawing = await page.locator('.plot .u-over').boundingBox();
  if (!drawing) throw new Error('nothing is drawn');
  await page.mouse.move(drawing.x + 2, drawing.y + 50);
  await page.mouse.down();
  await page.mouse.move(drawing.x + drawing.width * 0.6, drawing.y + 60, { steps: 3 });
  await page.mouse.up();
  await page.waitForURL('**where=*');
  const [from, to] = JSON.parse(new URL(page.url()).searchParams.get('where') ?? '[]') as string[][];
  expect([from?.slice(0, 2), to?.slice(0, 2)]).toEqual([
    ['timestamp', '>='],
    ['timestamp', '<'],
  ]);
  expect([from?.[2], to?.[2]].every((time) => time?.endsWith(':00:00.000Z'))).toBe(true);
  const [found] = lived.bench.sql<{ n: number }>(
    `SELECT count(*) AS n FROM ai_signals WHERE timestamp >= '${from?.[2]}' AND timestamp < '${to?.[2]}'`,
  );
  expect(found?.n).toBeLessThan(130);
  await page.getByRole('figure').getByText(`${found?.n} rows`, { exact: true }).waitFor();
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

test('removed rows are shown whatever was asked of held ones, and are sorted by what they can be sorted by', async () => {
  const held = encodeURIComponent(JSON.stringify([['_held_since', 'not null']]));
  const window = await lived.visit(`/datasets/ai-signals?where=${held}`);
  const { page } = window;
  const region = 'Removed rows of ai-signals';
  await page.getByText('No rows match.').waitFor();
  await page.getByRole('link', { name: 'Removed' }).click();
  await page.getByRole('region', { name: region }).waitFor();
  expect(await keysIn(page, region)).toEqual([lived.removed]);
  expect(await page.getByRole('list', { name: 'Filters' }).count()).toBe(0);
  // An address may have been written by hand.
  await go(window, `/datasets/ai-signals?show=removed&sort=_held_since&where=${held}`);
  expect(await keysIn(page, region)).toEqual([lived.removed]);

  const heads = page.getByRole('region', { name: region }).getByRole('columnheader');
  expect(await heads.filter({ hasText: 'by walk' }).getByRole('button').count()).toBe(0);
  await go(window, '/datasets/ai-signals?show=removed');
  await heads.getByRole('button', { name: /^removed/ }).click();
  await page.waitForURL('**&sort=_valid_to');
  await settled(page);
  expect(await heads.filter({ hasText: /^removed/ }).getAttribute('aria-sort')).toBe('ascending');
  const link = await page.getByRole('link', { name: 'Open as SQL' }).getAttribute('href');
  expect(new URLSearchParams(link?.split('#')[1]).get('sql')).toContain('ORDER BY "_valid_to" NULLS LAST');
});

test('every row that one proof removed names its walk, however many they were', async () => {
  const sight = await openSight({ rows: 1_500, walked: ['ai-signals'] });
  onTestFinished(sight.close);
  const { bench } = sight;
  const { aiSignals } = bench.model.data;
  aiSignals.rows.splice(0, 1_200);
  // So many are removed once two proofs agree.
  for (let proof = 0; proof < 2; proof += 1) {
    bench.clock.advance(60_000);
    aiSignals.generatedAt = isoTime(bench.clock.now());
    await bench.mirror('ai-signals');
  }
  const [removed] = bench.sql<{ rows: number; numbers: number }>(
    `SELECT count(*) AS rows, count(DISTINCT _valid_to) AS numbers FROM ai_signals_history WHERE _ended_by = 'delete'`,
  );
  expect(removed).toEqual({ rows: 1_200, numbers: 1 });
  const [walk] = bench.sql<{ id: number }>('SELECT id FROM walks WHERE deleted > 0');
  const { page } = await sight.visit('/datasets/ai-signals?show=removed&sort=_valid_to');
  for (const order of ['ascending', 'descending'] as const) {
    if (order === 'descending')
      await page
        .getByRole('columnheader', { name: /^removed/ })
        .getByRole('button')
        .click();
    await settled(page);
    const [heads = [], ...rows] = await tableIn(page, 'Removed rows of ai-signals');
    const at = heads.findIndex((head) => head.startsWith('by walk'));
    expect(rows.length).toBeGreaterThan(20);
    expect([order, ...new Set(rows.map((row) => row[at]))]).toEqual([order, String(walk?.id)]);
  }
});

test('a version that is being read stays open when a newer one comes', async () => {
  const { page } = await lived.visit(`/datasets/ai-signals/rows/${lived.changed}`);
  const values = page.getByRole('region', { name: 'Values of version 2' });
  await values.waitFor();
  const { aiSignals } = lived.bench.model.data;
  const at = aiSignals.rows.findIndex(({ id }) => id === lived.changed);
  aiSignals.rows[at] = { ...aiSignals.rows[at], confidence: 0.456 } as never;
  lived.bench.clock.advance(60_000);
  aiSignals.generatedAt = isoTime(lived.bench.clock.now());
  await lived.bench.mirror('ai-signals');
  await page.getByRole('heading', { name: 'Version 3: changed' }).waitFor();
  expect(await values.isVisible()).toBe(true);
});

test('of a row with very many versions, the number of each is true, and an early moment is not denied', async () => {
  const key = lived.added;
  const [row] = lived.bench.sql<{ at: string }>(
    `SELECT _first_seen_at AS at FROM ai_signals WHERE _key = ?`,
    key,
  );
  const begun = Date.parse(row?.at ?? '');
  // The trigger keeps each version.
  const changes = Array.from({ length: 210 }, (_, at) => isoTime(begun + (at + 1) * 1_000));
  lived.bench.tamper(
    changes.map((at) => `UPDATE _ai_signals_rows SET _changed_at = '${at}' WHERE _key = '${key}';`).join(''),
  );
  const window = await lived.visit(`/datasets/ai-signals/rows/${key}`);
  const { page } = window;
  await page.getByText('Current version: 211, since').waitFor();
  const titles = page.getByRole('heading', { name: /^Version/ });
  expect(await titles.first().innerText()).toBe('Version 211: changed');
  expect(await titles.last().innerText()).toBe('Version 12: oldest that is shown');
  await go(window, `/datasets/ai-signals/rows/${key}?at=${isoTime(begun + 4_500)}`);
  const text = await page.locator('main').innerText();
  expect(text).toContain('The latest 200 of its 211 versions all came after that moment');
  expect(text).not.toContain('not there at that moment');
});
