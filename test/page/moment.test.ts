/** A moment of the past, chosen by hand. */

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { sharedLived } from './lived.ts';
import { datasetLine, faultsOf, rowsOf, settled } from './support.ts';

const lived = await sharedLived();

const control = (page: Page) => page.locator('.moment summary');
const choice = (page: Page) => page.getByRole('dialog', { name: 'Choose a moment' });
const shownAt = (page: Page) => new URL(page.url()).searchParams.get('at');
const rowsThen = (at: string) =>
  lived.bench.sql<{ rows: number }>(
    `SELECT (SELECT count(*) FROM ai_signals WHERE _changed_at <= ?)
       + (SELECT count(*) FROM ai_signals_history WHERE _valid_from <= ? AND _valid_to > ?) AS "rows"`,
    ...[at, at, at],
  )[0]?.rows;

async function open(page: Page): Promise<void> {
  await control(page).click();
  await choice(page).locator('.reach').waitFor();
  await choice(page).locator('.day-changes').waitFor();
}

test('a moment is typed, and stays chosen wherever one goes, until one goes back to now', async () => {
  const { page } = await lived.visit('/');
  await open(page);
  const field = choice(page).locator('input');
  await field.fill('2999-01-01T00:00');
  await choice(page).getByRole('button', { name: 'Show' }).click();
  await choice(page).getByRole('alert').getByText('This is yet to come.').waitFor();
  expect(shownAt(page)).toBeNull();
  const minute = lived.before.slice(0, 16);
  await field.fill(minute);
  await field.press('Enter');
  await settled(page);
  const at = `${minute}:00.000Z`;
  expect(shownAt(page)).toBe(at);
  expect(await rowsOf(page, 'ai-signals').innerText()).toBe(String(rowsThen(at)));
  await page.getByRole('button', { name: 'Details of ai-signals' }).click();
  expect(await datasetLine(page, 'ai-signals').innerText()).toMatch(
    new RegExp(`Complete as of\\s+${lived.before.slice(0, 10)}`),
  );
  // What is known of now alone is not said of then.
  const ofNow = page.locator('nav').getByText(/stale|snapshot|^\d+$/);
  expect(await ofNow.count()).toBe(0);
  await page.getByRole('link', { name: 'news' }).first().click();
  await page.waitForURL('**/datasets/news?*');
  expect(shownAt(page)).toBe(at);
  await page.getByRole('link', { name: 'Back to now' }).click();
  await page.waitForURL('**/datasets/news');
});

test('days on which something changed are marked, with how much, and lead to each change; by the keyboard, too, on every screen', async () => {
  const window = await lived.visit('/', { width: 390, colorScheme: 'dark' });
  const { page } = window;
  await open(page);
  expect(await faultsOf(window)).toEqual([]);
  await page.setViewportSize({ width: 1_280, height: 800 });
  const days = lived.bench.sql<{ day: string; changes: number }>(
    `SELECT date(last_seq / 1000, 'unixepoch') AS day, sum(inserted + updated + deleted) AS changes
     FROM walks WHERE last_seq IS NOT NULL GROUP BY 1`,
  );
  for (const { day, changes } of days)
    await choice(page)
      .getByRole('button', { name: `${day}, ${changes} change` })
      .waitFor();
  const today = choice(page).locator('.day[aria-pressed="true"]');
  await today.focus();
  expect(await choice(page).locator('.day[data-day="2026-11-20"]').isDisabled()).toBe(true);
  await page.keyboard.press('Escape');
  expect(await choice(page).count()).toBe(0);
  expect(await control(page).evaluate((button) => button === document.activeElement)).toBe(true);

  await open(page);
  const [walk] = lived.bench.sql<{ seq: number }>(
    `SELECT last_seq AS seq FROM walks WHERE job = 'ai-signals' AND last_seq IS NOT NULL ORDER BY id LIMIT 1 OFFSET 1`,
  );
  const at = new Date(walk?.seq ?? 0).toISOString();
  await choice(page)
    .getByRole('button', { name: new RegExp(`${at.slice(11, 19)} ai-signals`) })
    .click();
  await settled(page);
  expect([shownAt(page), await rowsOf(page, 'ai-signals').innerText()]).toEqual([at, String(rowsThen(at))]);
});
