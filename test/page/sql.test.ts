import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { gate } from '../helpers/gate.ts';
import { sharedLived } from './lived.ts';
import { settled, tableIn } from './support.ts';

const lived = await sharedLived();

const editorIn = (page: Page) => page.getByRole('textbox', { name: 'SQL' });

async function write(page: Page, sql: string): Promise<void> {
  await editorIn(page).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(sql);
  await page.keyboard.press('Control+Enter');
}

/** As fast as keys can come. */
async function type(page: Page, sql: string): Promise<void> {
  // What is proposed lies over it.
  await editorIn(page).focus();
  await page.keyboard.press('Control+A');
  await page.keyboard.type(sql);
}

/** The editor itself: the plain field before it is another. */
const codeIn = (page: Page) => page.locator('.cm-content');

const answerIn = (page: Page) => tableIn(page, 'Rows of the answer');
const linkTo = (sql: string) => `/sql#${new URLSearchParams({ sql })}`;

test('a query that goes on for ever says how many rows it has brought, and is ended by its button; others are answered', async () => {
  const { page } = await lived.visit('/sql');
  const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)';
  // Rows so long that each is sent at once, and then none for ever; or none at all.
  const rows = `${endless} SELECT hex(zeroblob(200000)) AS long FROM n WHERE i <= 3`;
  for (const [sql, said] of [
    [rows, /[1-9]\d* rows? so far/],
    [`${endless} SELECT count(*) FROM n`, /^(Stop|Cancel)/],
  ] as const) {
    await write(page, sql);
    await page.getByText(said).first().waitFor();
    await page.getByRole('button', { name: /^(Stop|Cancel)/ }).click();
    await page.getByRole('button', { name: 'Run' }).waitFor();
  }
  await write(page, 'SELECT 42 AS answer');
  await page.getByRole('cell', { name: '42' }).waitFor();
});

test('a cut answer says so, in its chart as well', async () => {
  const { page } = await lived.visit(
    linkTo(
      'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1500) SELECT i, i * 2 AS twice FROM n',
    ),
  );
  await page.getByText('first 1,000 rows').first().waitFor();
  expect(await page.locator('main').innerText()).toContain('Cut: the first 1,000 rows of more are shown.');
  await page.getByRole('button', { name: 'Chart' }).click();
  expect(await page.getByRole('figure').innerText()).toContain('Cut: the first 1,000 rows');
});

test('the editor is loaded once SQL is opened, colours what is written, proposes tables and columns, and runs it by a key', async () => {
  const { page, messages } = await lived.visit('/');
  const isLoaded = () =>
    page.evaluate(() => performance.getEntriesByType('resource').some(({ name }) => /\/editor-/.test(name)));
  expect(await isLoaded()).toBe(false);
  await page.getByRole('navigation').getByRole('link', { name: 'SQL' }).click();
  await codeIn(page).waitFor();
  expect(await isLoaded()).toBe(true);
  await type(page, "SELECT 1, 'text' FROM news");
  const colours = () =>
    codeIn(page)
      .locator('span')
      .evaluateAll((spans) => new Set(spans.map((span) => getComputedStyle(span).color)).size);
  await expect.poll(colours).toBeGreaterThanOrEqual(3);

  // Columns of all datasets before one is named.
  await type(page, 'SELECT quality_g');
  await page.getByRole('option', { name: /^quality_grade/ }).waitFor();
  await page.keyboard.press('Escape');
  await type(page, 'SELECT * FROM smart_w');
  await page.locator('.cm-tooltip-autocomplete li').filter({ hasText: 'smart_wallets' }).first().waitFor();
  await type(page, 'SELECT * FROM ai_signals WHERE entry_p');
  await page.getByRole('option', { name: /^entry_price/ }).waitFor();
  await page.keyboard.press('Escape');

  const sql = 'SELECT count(*) AS n, max(confidence) AS most FROM ai_signals';
  await type(page, sql);
  await page.keyboard.press('Control+Enter');
  const [row] = lived.bench.sql<{ n: number; most: number }>(sql);
  const answer = [
    ['n', 'most'],
    [String(row?.n), String(row?.most)],
  ];
  await settled(page);
  expect(await answerIn(page)).toEqual(answer);
  expect(await page.locator('main').innerText()).toMatch(/ai-signals\s+S\s+snapshot\s+as of/);
  expect(messages).toEqual([]);

  // Tables stand beside it with their rows, and examples are one click.
  await page.getByText(`ai_signals ${row?.n} rows`).waitFor();
  await page.getByRole('button', { name: 'Signals by day' }).click();
  await page.getByRole('button', { name: 'Run', exact: true }).first().click();
  await expect.poll(async () => (await answerIn(page))[0]).toEqual(['day', 'signals']);
});

test('beside a moment stands a query of then, and one of the present alone is refused', async () => {
  const window = await lived.visit(`/sql?at=${lived.before}`);
  const { page } = window;
  expect(await codeIn(page).innerText()).not.toContain('freshness');
  await settled(page);
  const proven = lived.bench.sql<{ job: string; at: string }>(
    'SELECT job, max(started_at) AS at FROM walks WHERE finished_at <= ? GROUP BY job ORDER BY job',
    lived.before,
  );
  const rows = (await answerIn(page)).slice(1);
  expect(rows.map(([job]) => job)).toEqual(proven.map(({ job }) => job));
  expect(await page.getByRole('button', { name: 'Which datasets are fresh' }).count()).toBe(0);
  await write(page, 'SELECT * FROM freshness');
  await page
    .getByRole('alert')
    .getByText('freshness shows how things stand now: leave out the time')
    .waitFor();
  // Back in the present the query that nobody has changed is that of the present.
  await page.goto(`${lived.url}/sql?at=${lived.before}`);
  await page.getByRole('link', { name: 'Back to now' }).click();
  await expect.poll(() => codeIn(page).innerText()).toContain('FROM freshness');
  await page.getByRole('button', { name: 'Which datasets are fresh' }).waitFor();
});

test('the message of a wrong query marks the place, the query stays, and none writes', async () => {
  const { page } = await lived.visit(linkTo('SELECT id,\n  confidense FROM ai_signals'));
  const message = await page.getByRole('alert').innerText();
  expect(message).toContain('no such column: confidense (did you mean confidence?), line 2');
  expect(message).toMatch(/\n {2}2 \| {3}confidense FROM ai_signals\n\s+\^/);
  await page.reload();
  await settled(page);
  expect(await codeIn(page).innerText()).toContain('confidense');
  await write(page, 'DELETE FROM ai_signals');
  await page
    .getByRole('alert')
    .filter({ hasText: /read|write/ })
    .waitFor();
});

test('parameters get fields, which a link asks for first, and go to SQLite as what was typed', async () => {
  const { page } = await lived.visit(linkTo('SELECT typeof(:a) AS a, typeof(:b) AS b, :b AS c'));
  await page.getByRole('textbox', { name: ':a' }).fill('12');
  expect(await page.getByRole('alert').count()).toBe(0);
  await page.getByRole('textbox', { name: ':b' }).fill("'12'");
  await page.keyboard.press('Enter');
  await settled(page);
  expect(await answerIn(page)).toEqual([
    ['a', 'b', 'c'],
    ['integer', 'text', '12'],
  ]);
  expect(new URLSearchParams(new URL(page.url()).hash.slice(1)).get('params')).toBe('{"a":12,"b":"12"}');
});

test('a chart is chosen by what the columns hold, and can be another; where names are short, most of bars is bars', async () => {
  const window = await lived.visit(
    linkTo('SELECT "timestamp", confidence, asset FROM ai_signals ORDER BY 1'),
  );
  const { page, messages } = window;
  await page.getByRole('button', { name: 'Chart' }).click();
  const kind = page.getByRole('combobox', { name: 'Chart', exact: true });
  expect(await kind.inputValue()).toBe('line');
  await page.locator('.plot canvas').waitFor();
  await kind.selectOption('bar');
  await page.locator('table.bars').waitFor();
  expect(await page.locator('table.bars tbody tr').count()).toBe(100);
  expect(messages).toEqual([]);

  await page.goto(
    `${lived.url}${linkTo('SELECT action, count(*) AS signals FROM ai_signals GROUP BY action')}`,
  );
  await page.reload();
  await settled(page);
  await page.getByRole('button', { name: 'Chart' }).click();
  await page.locator('table.bars').waitFor();
  const widthOf = async (part: string) =>
    (await page.locator(`table.bars ${part}`).first().boundingBox())?.width ?? Number.NaN;
  for (const width of [1_280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    await settled(page);
    expect(await widthOf('tbody th')).toBeLessThan((await widthOf('tbody tr')) / 3);
  }
});

test('a plain field takes the place of an editor that cannot be loaded', async () => {
  const { page } = await lived.visit('/walks');
  await page.route('**/assets/editor-*', (route) => route.abort());
  await page.goto(`${lived.url}/sql`);
  await page.getByRole('textbox', { name: 'SQL' }).fill('SELECT 3 AS three');
  await page.keyboard.press('Control+Enter');
  await expect.poll(() => answerIn(page)).toEqual([['three'], ['3']]);
});

test('another moment asks the same again, and leaves what is being typed', async () => {
  const sql = `SELECT count(*) AS n FROM ai_signals WHERE _key = '${lived.added}'`;
  const { page } = await lived.visit(linkTo(sql));
  expect(await answerIn(page)).toEqual([['n'], ['1']]);
  const choose = async (moment: string | null) => {
    await page.getByRole('button', { name: 'Moment shown' }).click();
    const choice = page.getByRole('dialog', { name: 'Choose a moment' });
    if (moment === null) return await choice.getByRole('button', { name: 'Now' }).click();
    await choice.locator('input').fill(moment);
    await choice.locator('input').press('Enter');
  };
  await type(page, 'SELECT 2');
  await choose(lived.before.slice(0, 16));
  await expect.poll(() => answerIn(page)).toEqual([['n'], ['0']]);
  expect(await codeIn(page).innerText()).toBe('SELECT 2');
  expect(new URLSearchParams(new URL(page.url()).hash.slice(1)).get('sql')).toBe(sql);

  await choose(null);
  await expect.poll(() => answerIn(page)).toEqual([['n'], ['1']]);
});

test('what is typed before the editor is there goes on in it, where the cursor stands', async () => {
  const { page } = await lived.visit('/walks');
  const held = gate();
  await page.route('**/assets/editor-*', async (route) => {
    await held.passed;
    await route.continue();
  });
  await page.goto(`${lived.url}/sql`);
  await editorIn(page).fill('');
  await page.keyboard.type('SELECT 1 AS one');
  for (let letter = 0; letter < 3; letter += 1) await page.keyboard.press('Shift+ArrowLeft');
  held.open();
  await codeIn(page).waitFor();
  await page.keyboard.type('two');
  expect(await codeIn(page).innerText()).toBe('SELECT 1 AS two');
});

test('a chart that one answer cannot have is drawn of the next, though its columns have the same names', async () => {
  const { page } = await lived.visit(linkTo(`SELECT 'a' AS x, 'b' AS y`));
  await page.getByRole('button', { name: 'Chart' }).click();
  await page.getByText('A chart needs a column of numbers').waitFor();
  await write(page, 'SELECT 1 AS x, 2 AS y UNION ALL SELECT 2, 3');
  await page.getByRole('figure').waitFor();
});

test('the link to the content leads there, and leaves the query in the address', async () => {
  const { page } = await lived.visit(linkTo('SELECT 5 AS five'));
  const address = page.url();
  await page.getByRole('link', { name: 'To the content' }).press('Enter');
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('content');
  expect(page.url()).toBe(address);
});

test('a query is taken along as the text of a report', async () => {
  const { page } = await lived.visit(linkTo('SELECT job FROM freshness'));
  expect(await page.locator('.origin summary').innerText()).toMatch(
    /^5 datasets, complete as of [-\d :]+ UTC; .*news is stale \(.* old\)/,
  );
  await page.getByRole('button', { name: 'As a report' }).click();
  expect(await page.getByRole('dialog').locator('pre').innerText()).toMatch(
    /^-- title: .*\n[\s\S]*\nSELECT job FROM freshness\n?$/,
  );
});
