import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Lived, openLived } from './lived.ts';
import { settled, tableIn } from './support.ts';

let lived: Lived;
beforeAll(async () => {
  lived = await openLived();
});
afterAll(() => lived.close());

const editorIn = (page: Page) => page.getByRole('textbox', { name: 'SQL' });

async function write(page: Page, sql: string): Promise<void> {
  await editorIn(page).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(sql);
  await page.keyboard.press('Control+Enter');
}

/** As fast as keys can come. */
async function type(page: Page, sql: string): Promise<void> {
  await editorIn(page).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.type(sql);
}

/** The editor itself: the plain field before it is another. */
const codeIn = (page: Page) => page.locator('.cm-content');

const answerIn = (page: Page) => tableIn(page, 'Rows of the answer');
const linkTo = (sql: string) => `/sql#${new URLSearchParams({ sql })}`;

test('an answer is what SQL says, with as of when it is and what is proven of it', async () => {
  const { page } = await lived.visit('/sql');
  const sql = 'SELECT id, confidence, action FROM ai_signals ORDER BY confidence DESC, id LIMIT 7';
  await write(page, sql);
  expect(await answerIn(page)).toEqual([
    ['id', 'confidence', 'action'],
    ...lived.bench.sql(sql).map((row) => Object.values(row).map(String)),
  ]);
  expect(await page.locator('main').innerText()).toMatch(/ai-signals\s+S\s+snapshot\s+as of/);
});

test('a query is linked, and the link answers it as of the moment when it was asked', async () => {
  const { page, context } = await lived.visit(linkTo('SELECT count(*) AS n FROM news'));
  const link = await page.getByRole('link', { name: 'Link to this answer' }).getAttribute('href');
  expect(link).toContain('at=');
  const other = await context.newPage();
  await other.goto(`${lived.url}${link}`);
  expect(await answerIn(other)).toEqual(await answerIn(page));
});

test('what is wrong is told at the place, and the SQL stays', async () => {
  const { page, messages } = await lived.visit('/sql');
  await write(page, 'SELECT nowhere FROM ai_signals');
  expect(await page.getByRole('alert').innerText()).toContain('no such column: nowhere');
  expect(await editorIn(page).innerText()).toContain('SELECT nowhere FROM ai_signals');
  await write(page, 'DELETE FROM ai_signals');
  await page
    .getByRole('alert')
    .filter({ hasText: /read|write/ })
    .waitFor();
  expect(lived.bench.sql('SELECT 1 FROM ai_signals').length).toBeGreaterThan(100);
  await page.reload();
  await editorIn(page).filter({ hasText: 'DELETE FROM ai_signals' }).waitFor();
  expect(messages).toEqual([]);
});

test('a query that goes on for ever is ended by its button, and others are answered', async () => {
  const { page } = await lived.visit('/sql');
  const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';
  await write(page, endless);
  await page.getByRole('button', { name: /^(Stop|Cancel)/ }).click();
  await page.getByRole('button', { name: 'Run' }).waitFor();
  await write(page, 'SELECT 42 AS answer');
  await page.getByRole('cell', { name: '42' }).waitFor();
});

test('a query says how many rows it has brought so far', async () => {
  const { page } = await lived.visit('/sql');
  // Rows so long that each is sent at once, and then none for ever.
  await write(
    page,
    'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT hex(zeroblob(200000)) AS long FROM n WHERE i <= 3',
  );
  await page.getByText(/[1-9]\d* rows? so far/).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Run' }).waitFor();
});

test('parameters are asked for, and told apart from text', async () => {
  const { page } = await lived.visit('/sql');
  await write(page, 'SELECT count(*) AS n FROM ai_signals WHERE action = :action');
  await page.getByLabel(/action/).fill('BUY');
  await page.keyboard.press('Enter');
  const [row] = lived.bench.sql<{ n: number }>(`SELECT count(*) AS n FROM ai_signals WHERE action = 'BUY'`);
  await page.getByRole('cell', { name: String(row?.n), exact: true }).waitFor();
});

test('signals by day are drawn, and their numbers stand beside', async () => {
  const sql = `SELECT strftime('%Y-%m-%dT00:00:00Z', timestamp) AS day, count(*) AS signals
FROM ai_signals GROUP BY day ORDER BY day`;
  const { page } = await lived.visit(linkTo(sql));
  await page.getByRole('button', { name: 'Chart' }).click();
  const figure = page.getByRole('figure');
  await figure.waitFor();
  const text = async () => (await figure.innerText()).replaceAll('\n', ' ');
  if (await figure.getByText('Numbers').count()) await figure.getByText('Numbers').click();
  await figure.getByRole('table').waitFor();
  for (const { day, signals } of lived.bench.sql<{ day: string; signals: number }>(sql)) {
    expect(await text()).toContain(day.slice(0, 10));
    expect(await text()).toContain(String(signals));
  }
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

test('what was asked is kept by this browser, and opened again', async () => {
  const { page } = await lived.visit(linkTo(`SELECT 'kept in history' AS word`));
  await page.getByRole('cell', { name: 'kept in history' }).waitFor();
  await page.goto(`${lived.url}/sql`);
  await page.getByText(/quer(y|ies) asked before/).click();
  expect(await page.locator('main').innerText()).toContain('kept in history');
});

test('a download is whole, and its receipt tells what is in it', async () => {
  const { page } = await lived.visit(linkTo('SELECT id, confidence FROM ai_signals ORDER BY id'));
  await page.getByText('Download').click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSV' }).click(),
  ]);
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  const lines = Buffer.concat(chunks).toString().trim().split(/\r?\n/);
  const rows = lived.bench.sql<{ id: string; confidence: number }>(
    'SELECT id, confidence FROM ai_signals ORDER BY id',
  );
  expect(lines).toEqual(['id,confidence', ...rows.map(({ id, confidence }) => `${id},${confidence}`)]);
});

test('what is written is run by a key, and nothing of it is lost', async () => {
  const { page, messages } = await lived.visit('/sql');
  await codeIn(page).waitFor();
  await type(page, 'SELECT count(*) AS n, max(confidence) AS most FROM ai_signals');
  await page.keyboard.press('Control+Enter');
  const [row] = lived.bench.sql<{ n: number; most: number }>(
    'SELECT count(*) AS n, max(confidence) AS most FROM ai_signals',
  );
  expect(await answerIn(page)).toEqual([
    ['n', 'most'],
    [String(row?.n), String(row?.most)],
  ]);
  expect(messages).toEqual([]);
});

test('the editor is loaded once SQL is opened, and colours what is written', async () => {
  const { page } = await lived.visit('/');
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
});

test('tables are proposed, and columns of those that are named', async () => {
  const { page } = await lived.visit('/sql');
  await codeIn(page).waitFor();
  await type(page, 'SELECT * FROM smart_w');
  await page.locator('.cm-tooltip-autocomplete li').filter({ hasText: 'smart_wallets' }).first().waitFor();
  await type(page, 'SELECT * FROM ai_signals WHERE entry_p');
  await page.getByRole('option', { name: /^entry_price/ }).waitFor();
  await page.keyboard.press('Escape');
});

test('the message of a wrong query marks the place, and the query stays', async () => {
  const { page } = await lived.visit(linkTo('SELECT id,\n  confidense FROM ai_signals'));
  const message = await page.getByRole('alert').innerText();
  expect(message).toContain('no such column: confidense (did you mean confidence?), line 2');
  expect(message).toMatch(/\n {2}2 \| {3}confidense FROM ai_signals\n\s+\^/);
  await page.reload();
  await settled(page);
  expect(await codeIn(page).innerText()).toContain('confidense');
});

test('parameters get fields, and go to SQLite as what was typed', async () => {
  const { page } = await lived.visit(linkTo('SELECT typeof(:a) AS a, typeof(:b) AS b, :b AS c'));
  await page.getByRole('textbox', { name: ':a' }).fill('12');
  await page.getByRole('textbox', { name: ':b' }).fill("'12'");
  await page.keyboard.press('Enter');
  await settled(page);
  expect(await answerIn(page)).toEqual([
    ['a', 'b', 'c'],
    ['integer', 'text', '12'],
  ]);
  expect(new URLSearchParams(new URL(page.url()).hash.slice(1)).get('params')).toBe('{"a":12,"b":"12"}');
});

test('a link to a query whose parameter has no value yet asks for that first', async () => {
  const { page } = await lived.visit(linkTo('SELECT :word AS word'));
  const field = page.getByRole('textbox', { name: ':word' });
  await field.waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
  await field.fill('given');
  await page.keyboard.press('Enter');
  expect(await answerIn(page)).toEqual([['word'], ['given']]);
});

test('a link to an answer shows the same once the data are others', async () => {
  const count = 'SELECT count(*) AS n FROM ai_signals';
  const { page } = await lived.visit(linkTo(count));
  const first = await answerIn(page);
  const link = await page.getByRole('link', { name: 'Link to this answer' }).getAttribute('href');
  lived.bench.clock.advance(60_000);
  lived.bench.model.data.aiSignals.rows.unshift(...lived.bench.model.data.aiSignals.make(3));
  await lived.bench.mirror('ai-signals');
  await page.goto(`${lived.url}${linkTo(`${count} WHERE 1`)}`);
  await settled(page);
  expect(await answerIn(page)).not.toEqual(first);
  await page.goto(`${lived.url}${link}`);
  await settled(page);
  expect(await answerIn(page)).toEqual(first);
});

test('a chart is chosen by what the columns hold, and can be another', async () => {
  const { page, messages } = await lived.visit(
    linkTo('SELECT "timestamp", confidence, asset FROM ai_signals ORDER BY 1'),
  );
  await page.getByRole('button', { name: 'Chart' }).click();
  const kind = page.getByRole('combobox', { name: 'Chart', exact: true });
  expect(await kind.inputValue()).toBe('line');
  await page.locator('.plot canvas').waitFor();
  await kind.selectOption('bar');
  await page.locator('table.bars').waitFor();
  expect(await page.locator('table.bars tbody tr').count()).toBe(100);
  expect(messages).toEqual([]);
});

test.each([1280, 390])(
  'most of a chart of bars is bars where names are short, on a screen of %i',
  async (width) => {
    const { page } = await lived.visit(
      linkTo('SELECT action, count(*) AS signals FROM ai_signals GROUP BY action'),
      { width },
    );
    await page.getByRole('button', { name: 'Chart' }).click();
    const widthOf = async (part: string) =>
      (await page.locator(`table.bars ${part}`).first().boundingBox())?.width ?? Number.NaN;
    await page.locator('table.bars').waitFor();
    expect(await widthOf('tbody th')).toBeLessThan((await widthOf('tbody tr')) / 3);
  },
);

test('queries that were asked are kept in this browser, and can be forgotten', async () => {
  const { page } = await lived.visit(linkTo('SELECT 1 AS one'));
  await page.goto(`${lived.url}${linkTo('SELECT 2 AS two')}`);
  await settled(page);
  await page.getByText('2 queries asked before').click();
  await page.getByRole('button', { name: 'SELECT 1 AS one' }).click();
  await codeIn(page).getByText('SELECT 1 AS one').waitFor();
  await page.getByRole('button', { name: 'Forget this query' }).first().click();
  await page.getByText('1 query asked before').waitFor();
  await page.getByRole('button', { name: 'Forget all' }).click();
  expect(await page.getByText(/asked before/).count()).toBe(0);
});

test('a plain field takes the place of an editor that cannot be loaded', async () => {
  const { page } = await lived.visit('/walks');
  await page.route('**/assets/editor-*', (route) => route.abort());
  await page.goto(`${lived.url}/sql`);
  await page.getByRole('textbox', { name: 'SQL' }).fill('SELECT 3 AS three');
  await page.keyboard.press('Control+Enter');
  expect(await answerIn(page)).toEqual([['three'], ['3']]);
});
