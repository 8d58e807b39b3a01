/** Who has never seen the page finds out what it is for, by what is on it. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Lived, openLived } from './lived.ts';
import { settled } from './support.ts';

let lived: Lived;
beforeAll(async () => {
  lived = await openLived();
});
afterAll(() => lived.close());

test('who has never seen it finds what is stale and why, what changed, and a chart of signals by day', async () => {
  const { page } = await lived.visit('/');
  const stale = page.getByRole('article').filter({ has: page.getByText('stale', { exact: true }) });
  expect(await stale.getByRole('heading').allInnerTexts()).toEqual(['news']);
  await page.getByRole('link', { name: 'See the walk' }).first().click();
  await page.getByRole('heading', { level: 1, name: /^Walk \d+$/ }).waitFor();
  await settled(page);
  expect(await page.locator('main').innerText()).toContain('temporarily unavailable');

  await page.getByRole('link', { name: 'Overview' }).click();
  const changes = page.getByRole('article', { name: 'ai-signals' }).getByText(/changes in 24 hours: \d+ new/);
  expect(await changes.innerText()).toMatch(/[1-9]\d* new, [1-9]\d* changed, [1-9]\d* gone/);

  await page.getByRole('navigation').getByRole('link', { name: 'SQL' }).click();
  await page.getByText('Examples').click();
  await page.getByRole('button', { name: 'Signals by day' }).click();
  await page.getByRole('button', { name: 'Run', exact: true }).first().click();
  await page.getByRole('button', { name: 'Chart', exact: true }).click();
  const drawn = await page.getByRole('figure').getByRole('row').allInnerTexts();
  const days = lived.bench.sql<{ day: string; n: number }>(
    'SELECT date(timestamp) AS day, count(*) AS n FROM ai_signals GROUP BY 1 ORDER BY 1',
  );
  expect(drawn.slice(1).map((line) => line.trim().split(/\s+/))).toEqual(
    days.map(({ day, n }) => [day, String(n)]),
  );
});
