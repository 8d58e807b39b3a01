import type { Page } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import { openLived } from './lived.ts';
import { datasetLine, faultsOf, rowsOf, settled } from './support.ts';

const lived = await openLived();
afterAll(lived.close);

const control = (page: Page) => page.getByRole('button', { name: 'Moment shown' });
const choice = (page: Page) => page.getByRole('dialog', { name: 'Choose a moment' });
const shownAt = (page: Page) => new URL(page.url()).searchParams.get('at');

async function open(path = '/'): Promise<Page> {
  const { page } = await lived.visit(path);
  await control(page).click();
  await choice(page).locator('.reach').waitFor();
  return page;
}

/** By the versions that the mirror has kept. */
const rowsThen = (at: string) =>
  lived.bench.sql<{ rows: number }>(
    `SELECT (SELECT count(*) FROM ai_signals WHERE _changed_at <= ?)
       + (SELECT count(*) FROM ai_signals_history WHERE _valid_from <= ? AND _valid_to > ?) AS "rows"`,
    ...[at, at, at],
  )[0]?.rows;

describe('a moment of the past', () => {
  test('is typed, and the datasets are shown as they stood then', async () => {
    const page = await open();
    const field = choice(page).getByRole('textbox');
    await field.fill(lived.before.slice(0, 16).replace('T', ' '));
    await field.press('Enter');
    await settled(page);
    expect(shownAt(page)).toBe(`${lived.before.slice(0, 16)}:00.000Z`);
    expect(await rowsOf(page, 'ai-signals').innerText()).toBe(String(rowsThen(shownAt(page) ?? '')));
    await page.getByRole('button', { name: 'Details of ai-signals' }).click();
    expect(await datasetLine(page, 'ai-signals').innerText()).toMatch(
      new RegExp(`Complete as of\\s+${lived.before.slice(0, 10)}`),
    );
    // What is known of now alone is not said of then.
    expect(
      await page
        .locator('nav')
        .getByText(/stale|snapshot|^\d+$/)
        .count(),
    ).toBe(0);
    expect(await page.getByRole('list', { name: 'Problems' }).count()).toBe(0);
  });

  test('stays chosen wherever one goes, until one goes back to now', async () => {
    const { page } = await lived.visit(`/?at=${lived.before}`);
    await page.getByRole('link', { name: 'news' }).first().click();
    await page.waitForURL('**/datasets/news?*');
    expect(shownAt(page)).toBe(lived.before);
    await page.getByRole('link', { name: 'Back to now' }).click();
    await page.waitForURL('**/datasets/news');
    await page.goBack();
    expect(shownAt(page)).toBe(lived.before);
  });

  test.each([
    ['2999-01-01', 'This is yet to come.'],
    ['yesterday', 'Give a time such as 2026-03-01 12:00.'],
  ])('that is %s is refused at its place', async (text, complaint) => {
    const page = await open();
    await choice(page).getByRole('textbox').fill(text);
    await choice(page).getByRole('button', { name: 'Show' }).click();
    expect(await choice(page).getByRole('alert').innerText()).toBe(complaint);
    expect(shownAt(page)).toBeNull();
  });
});

describe('the days', () => {
  const days = () =>
    lived.bench.sql<{ day: string; changes: number }>(
      `SELECT date(last_seq / 1000, 'unixepoch') AS day, sum(inserted + updated + deleted) AS changes
       FROM walks WHERE last_seq IS NOT NULL GROUP BY 1`,
    );

  test('on which something changed are marked, with how much', async () => {
    const page = await open();
    for (const { day, changes } of days()) {
      const named = choice(page).getByRole('button', { name: `${day}, ${changes} change` });
      await named.waitFor();
    }
    // How far back the past reaches is said below them.
    const [first] = lived.bench.sql<{ at: string }>('SELECT min(started_at) AS at FROM walks');
    expect(await choice(page).locator('.reach').innerText()).toContain(
      first?.at.slice(0, 16).replace('T', ' '),
    );
  });

  test('lead to each change, and that to its moment', async () => {
    const page = await open();
    const [walk] = lived.bench.sql<{ seq: number }>(
      `SELECT last_seq AS seq FROM walks WHERE job = 'ai-signals' AND last_seq IS NOT NULL ORDER BY id LIMIT 1 OFFSET 1`,
    );
    const at = new Date(walk?.seq ?? 0).toISOString();
    await choice(page)
      .getByRole('button', { name: new RegExp(`${at.slice(11, 19)} ai-signals`) })
      .click();
    await settled(page);
    expect(shownAt(page)).toBe(at);
    expect(await rowsOf(page, 'ai-signals').innerText()).toBe(String(rowsThen(at)));
  });

  test('are walked through by the arrows, and Escape leads back to where one was', async () => {
    const page = await open();
    const today = choice(page).locator('.day[aria-pressed="true"]');
    await today.focus();
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowUp');
    const chosen = new Date(`${await today.getAttribute('data-day')}T00:00:00Z`);
    chosen.setUTCDate(chosen.getUTCDate() - 8);
    expect(await page.evaluate(() => (document.activeElement as HTMLElement).dataset['day'])).toBe(
      chosen.toISOString().slice(0, 10),
    );
    await page.keyboard.press('Escape');
    expect(await choice(page).count()).toBe(0);
    expect(await control(page).evaluate((button) => button === document.activeElement)).toBe(true);
  });
});

test('the choice of a moment can be read by everybody, on every screen', async () => {
  const window = await lived.visit('/', { width: 390, colorScheme: 'dark' });
  await control(window.page).click();
  await choice(window.page).locator('.reach').waitFor();
  await choice(window.page).locator('.day-changes li').first().waitFor();
  expect(await faultsOf(window)).toEqual([]);
  await window.page.setViewportSize({ width: 1_280, height: 800 });
  await window.page.emulateMedia({ colorScheme: 'light' });
  expect(await faultsOf(window)).toEqual([]);
});

test('a moment before the first walk of a dataset is refused in words, and no number of rows is told of it', async () => {
  const { page } = await lived.visit('/?at=2020-01-01T00:00:00.000Z');
  await datasetLine(page, 'news').getByText('lies before the first walk of news').waitFor();
  expect(await rowsOf(page, 'news').innerText()).toBe('–');
  await page.goto(new URL('/datasets/news?at=2020-01-01T00:00:00.000Z', page.url()).href);
  await page.getByText('lies before the first walk of news').first().waitFor();
  expect(await page.getByRole('row').count()).toBeLessThanOrEqual(1);
});

test('a time that is none is refused in words, and nothing is shown in its place', async () => {
  const window = await lived.visit('/datasets/news?at=banana');
  const { page } = window;
  expect(await page.locator('main').innerText()).toMatch(/“banana” is no time\. Write it as 2026-/);
  expect(await page.getByRole('row').count()).toBe(0);
  expect(await faultsOf(window)).toEqual([]);
  await page.getByRole('link', { name: 'Show now' }).click();
  await page.waitForURL(`${lived.url}/datasets/news`);
  await page.getByRole('row').first().waitFor();
});
