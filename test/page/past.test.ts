/** The past: a moment is chosen, and every view shows what was there then. */

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { sharedLived } from './lived.ts';
import { datasetLine, faultsOf, go, rowsOf, settled, tableIn } from './support.ts';

const lived = await sharedLived();

const control = (page: Page) => page.getByRole('button', { name: 'Moment shown' });
const choice = (page: Page) => page.getByRole('dialog', { name: 'Choose a moment' });
const field = (page: Page) => choice(page).locator('input');
const shownAt = (page: Page) => new URL(page.url()).searchParams.get('at');

async function openChoice(page: Page): Promise<void> {
  await control(page).click();
  await choice(page).locator('.reach').waitFor();
}

/** By the versions that the mirror has kept. */
const rowsThen = (at: string) =>
  lived.bench.sql<{ rows: number }>(
    `SELECT (SELECT count(*) FROM ai_signals WHERE _changed_at <= ?)
       + (SELECT count(*) FROM ai_signals_history WHERE _valid_from <= ? AND _valid_to > ?) AS "rows"`,
    ...[at, at, at],
  )[0]?.rows;

test('a moment is typed, and stays chosen wherever one goes, until one goes back to now', async () => {
  const { page } = await lived.visit('/');
  await openChoice(page);
  await field(page).fill('2999-01-01T00:00');
  await choice(page).getByRole('button', { name: 'Show' }).click();
  await choice(page).getByRole('alert').getByText('This is yet to come.').waitFor();
  expect(shownAt(page)).toBeNull();
  const minute = lived.before.slice(0, 16);
  await field(page).fill(minute);
  await field(page).press('Enter');
  await settled(page);
  const at = `${minute}:00.000Z`;
  expect(shownAt(page)).toBe(at);
  expect(await rowsOf(page, 'ai-signals').innerText()).toBe(String(rowsThen(at)));
  await page.getByRole('button', { name: 'Details of ai-signals' }).click();
  const details = await datasetLine(page, 'ai-signals').innerText();
  expect(details).toMatch(new RegExp(`Complete as of\\s+${lived.before.slice(0, 10)}`));
  // What is known of now alone is not said of then.
  const ofNow = page.locator('nav').getByText(/stale|snapshot|^\d+$/);
  expect(await ofNow.count()).toBe(0);
  expect(await page.getByRole('list', { name: 'Problems' }).count()).toBe(0);

  await page.getByRole('link', { name: 'news' }).first().click();
  await page.waitForURL('**/datasets/news?*');
  expect(shownAt(page)).toBe(at);
  await page.getByRole('link', { name: 'Back to now' }).click();
  await page.waitForURL('**/datasets/news');
  await page.goBack();
  expect(shownAt(page)).toBe(at);
});

test('days on which something changed are marked, with how much, and lead to each change and its moment', async () => {
  const { page } = await lived.visit('/');
  await openChoice(page);
  const days = lived.bench.sql<{ day: string; changes: number }>(
    `SELECT date(last_seq / 1000, 'unixepoch') AS day, sum(inserted + updated + deleted) AS changes
     FROM walks WHERE last_seq IS NOT NULL GROUP BY 1`,
  );
  for (const { day, changes } of days)
    await choice(page)
      .getByRole('button', { name: `${day}, ${changes} change` })
      .waitFor();
  // How far back the past reaches is said below them.
  const [first] = lived.bench.sql<{ at: string }>('SELECT min(started_at) AS at FROM walks');
  expect(await choice(page).locator('.reach').innerText()).toContain(
    first?.at.slice(0, 16).replace('T', ' '),
  );

  const [walk] = lived.bench.sql<{ seq: number }>(
    `SELECT last_seq AS seq FROM walks WHERE job = 'ai-signals' AND last_seq IS NOT NULL ORDER BY id LIMIT 1 OFFSET 1`,
  );
  const at = new Date(walk?.seq ?? 0).toISOString();
  const change = choice(page).getByRole('button', { name: new RegExp(`${at.slice(11, 19)} ai-signals`) });
  await change.click();
  await settled(page);
  expect(shownAt(page)).toBe(at);
  expect(await rowsOf(page, 'ai-signals').innerText()).toBe(String(rowsThen(at)));
});

test('the choice of a moment can be read by everybody, on every screen, and used by the keyboard', async () => {
  const window = await lived.visit('/', { width: 390, colorScheme: 'dark' });
  const { page } = window;
  await openChoice(page);
  await choice(page).locator('.day-changes li').first().waitFor();
  expect(await faultsOf(window)).toEqual([]);
  await page.setViewportSize({ width: 1_280, height: 800 });
  await page.emulateMedia({ colorScheme: 'light' });
  expect(await faultsOf(window)).toEqual([]);

  // The arrows go through the days that can be shown, and Escape leads back to where one was.
  const today = choice(page).locator('.day[aria-pressed="true"]');
  await today.focus();
  const earlier = choice(page).locator('.day[data-day="2026-11-20"]');
  expect(await earlier.isDisabled()).toBe(true);
  await page.keyboard.press('ArrowLeft');
  const focused = await page.evaluate(() => (document.activeElement as HTMLElement).dataset['day']);
  expect(focused).toBe(await today.getAttribute('data-day'));
  await page.keyboard.press('Escape');
  expect(await choice(page).count()).toBe(0);
  expect(await control(page).evaluate((button) => button === document.activeElement)).toBe(true);
});

test('rows and SQL are those of then, and links keep the moment; what differs from now is counted and compared', async () => {
  const window = await lived.visit(`/datasets/ai-signals?at=${lived.before}&q=${lived.removed}`);
  const { page } = window;
  const row = page.getByRole('link', { name: lived.removed });
  await row.click();
  await page.waitForURL(`**/rows/${lived.removed}?at=*`);
  await page.getByText('Version at this moment: 1').waitFor();
  await go(window, `/datasets/ai-signals?at=${lived.before}&q=${lived.added}`);
  await page.getByText('No rows match.').waitFor();
  await go(window, `/datasets/ai-signals?at=${lived.before}`);
  const link = page.getByRole('link', { name: '1 new, 1 gone, 1 changed' });
  expect(await link.getAttribute('href')).toBe(`/changes?job=eq.ai-signals&from=${lived.before}`);

  // The life of a row ends then.
  const [then] = lived.bench.sql<{ confidence: number; status: string }>(
    `SELECT confidence, status FROM ai_signals_history WHERE id = '${lived.changed}' AND _ended_by = 'update'`,
  );
  await go(window, `/datasets/ai-signals/rows/${lived.changed}`);
  await page.getByRole('link', { name: 'an hour ago' }).click();
  await page.getByText('1 version came later').waitFor();
  expect(await page.getByRole('heading', { name: /^Version/ }).count()).toBe(1);
  const values = Object.fromEntries(await tableIn(page, 'Values of version 1'));
  expect([values['confidence'], values['status']]).toEqual([String(then?.confidence), then?.status]);
  const differing = (await tableIn(page, 'What differs from now')).slice(1);
  expect(differing).toEqual(
    expect.arrayContaining([
      ['confidence', String(then?.confidence), '0.123'],
      ['status', then?.status, 'closed'],
    ]),
  );

  const sql = `SELECT confidence FROM ai_signals WHERE id = '${lived.changed}'`;
  await go(window, `/sql?at=${lived.before}#${new URLSearchParams({ sql })}`);
  expect((await tableIn(page, 'Rows of the answer')).slice(1)).toEqual([[String(then?.confidence)]]);
  expect(await page.locator('main').innerText()).not.toContain('old');
});

test('a moment before the first walk of a dataset, and a time that is none, are refused in words, and nothing is shown of them', async () => {
  const window = await lived.visit('/?at=2020-01-01T00:00:00.000Z');
  const { page } = window;
  await datasetLine(page, 'news').getByText('The copy of news begins at').waitFor();
  expect(await rowsOf(page, 'news').innerText()).toBe('–');
  await go(window, '/datasets/news?at=2020-01-01T00:00:00.000Z');
  await page.getByText('The copy of news begins at').first().waitFor();
  expect(await page.getByRole('row').count()).toBeLessThanOrEqual(1);
  window.messages.length = 0;
  await go(window, '/datasets/news?at=banana');
  expect(await page.locator('main').innerText()).toMatch(/Cannot read 'banana' as a time; write 2026-/);
  expect(await page.getByRole('row').count()).toBe(0);
  expect(await faultsOf(window)).toEqual([]);
  await page.getByRole('link', { name: 'Show now' }).click();
  await page.waitForURL(`${lived.url}/datasets/news`);
  await page.getByRole('row').first().waitFor();
  await go(window, '/walks?from=2026-02-30&to=2026-12-01');
  await page.locator('main').getByText("There is no time '2026-02-30'").waitFor();
  expect(await page.getByRole('row').count()).toBe(0);
  await page.getByRole('link', { name: 'Leave out “from”' }).click();
  await page.waitForURL(`${lived.url}/walks?to=2026-12-01T00:00:00.000Z`);
  await page.getByRole('row').first().waitFor();
});

test('where the walks or the changes of then cannot be asked for, the overview says so', async () => {
  const { page } = await lived.visit('/');
  for (const part of ['PARTITION BY job', 'FROM walks WHERE last_seq']) {
    await page.route('**/page/query', (route) =>
      route.request().postData()?.includes(part)
        ? route.fulfill({ status: 500, json: { message: `no answer to ${part}` } })
        : route.continue(),
    );
    await page.goto(`${lived.url}/?at=${lived.before}`);
    await page.getByRole('alert').getByText(`no answer to ${part}`).waitFor();
    await page.unroute('**/page/query');
  }
});

test('of a moment before the first walk nothing is claimed of a row, in one sentence, and of a later one whether it was there', async () => {
  const window = await lived.visit(`/datasets/ai-signals/rows/${lived.added}?at=2026-01-01T00:00:00Z`);
  const { page } = window;
  const main = page.locator('main');
  await page
    .getByText(/^The copy of ai-signals begins at .* Choose that time or later\. Back to now$/)
    .waitFor();
  expect(await main.innerText()).not.toContain('not there');
  await go(window, `/datasets/ai-signals/rows/${lived.added}?at=${lived.before}`);
  await page.getByText('This row was not there at that moment: it was first seen at').waitFor();
});
