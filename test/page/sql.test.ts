import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Lived, openLived } from './lived.ts';
import { tableIn } from './support.ts';

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

test('a query that goes on for ever is ended by its button, and by leaving', async () => {
  const { page } = await lived.visit('/sql');
  const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';
  await write(page, endless);
  await page.getByRole('button', { name: /^(Stop|Cancel)/ }).click();
  await page.getByRole('button', { name: 'Run' }).waitFor();
  await write(page, 'SELECT 42 AS answer');
  await page.getByRole('cell', { name: '42' }).waitFor();
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
