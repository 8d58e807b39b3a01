/** The door of the page: a link or a key opens it, in all windows of a browser, until somebody signs out or the session ends. */

import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { DAY_MS } from '../../src/base/clock.ts';
import { openSessions } from '../../src/serve/access/sessions.ts';
import { applyLooks, openWindow, type Window } from '../helpers/browser.ts';
import { faultsOf, lookAgain, openSight, settled } from './support.ts';

const sight = await openSight({ walked: ['news'], settings: { page: 'token' } });
afterAll(sight.close);

function newLink(): string {
  const { bench, url } = sight;
  const tokens = openSessions(bench.dir);
  const { token } = tokens.issueLink(bench.clock.now());
  tokens.close();
  return `${url}/?token=${token}`;
}

/** Follows a new link, to where it leads. */
async function enter(page: Page): Promise<void> {
  await page.goto(newLink());
  await page.waitForURL(`${sight.url}/`);
}

const heading = (page: Page) => page.locator('h1').innerText();
const closedDoor = 'This page opens by a link or a key';

/** Browsers note that a document came with such a status. */
const faultsBesides = async (status: number, window: Window) =>
  (await faultsOf(window)).filter((fault) => !fault.includes(`status of ${status}`));

test('a link opens the page and leaves no token in the address; who signs out is out, in all windows of that browser', async () => {
  const { context, page, messages } = await openWindow(sight.browser, sight.url);
  await enter(page);
  await settled(page);
  expect(await heading(page)).toBe('Overview');
  expect(messages).toEqual([]);
  const another = await context.newPage();
  await another.goto(`${sight.url}/datasets/news`);
  await settled(another);
  expect(await heading(another)).toBe('news');

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: closedDoor }).waitFor();
  expect(await context.cookies()).toEqual([]);
  await sight.bench.mirror('news');
  await lookAgain(another);
  await another.getByText('not signed in').waitFor();
  await another.reload();
  expect(await heading(another)).toBe(closedDoor);
});

test('a link that is wrong or old is told so, with what gives a new one', async () => {
  const window = await openWindow(sight.browser, sight.url, { width: 390 });
  const old = newLink();
  sight.bench.clock.advance(2 * DAY_MS);
  for (const link of [`${sight.url}/?token=${'A'.repeat(43)}`, old]) {
    await window.page.goto(link);
    expect(await heading(window.page)).toBe('This link is wrong, or too old');
    expect(await window.page.locator('main').innerText()).toContain('market-mirror keys page');
  }
  expect(await faultsBesides(401, window)).toEqual([]);
});

test('without a link every view says how to get one, and a key for the page opens it, typed and sent by the keyboard', async () => {
  const window = await openWindow(sight.browser, sight.url);
  const { page } = window;
  await page.goto(`${sight.url}/datasets/news`);
  for (const colorScheme of ['light', 'dark'] as const) {
    await applyLooks(page, { colorScheme });
    expect(await heading(page)).toBe(closedDoor);
    expect(await faultsBesides(401, window)).toEqual([]);
  }
  await page.goto(sight.url);
  await page.getByLabel('Key').fill(sight.issue({ name: 'reader' }).key);
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByRole('heading', { name: 'page:read' }).waitFor();
  await page.getByLabel('Key').fill('no key');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'This key is not valid' }).waitFor();
  await page.getByLabel('Key').fill(sight.issue({ name: 'looker', scopes: ['page:read'] }).key);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
});

test('an address that there is not is said by a page of ours in a browser, and to a program as an error', async () => {
  const window = await openWindow(sight.browser, sight.url, { width: 390, colorScheme: 'dark' });
  const response = await window.page.goto(`${sight.url}/foo/bar`);
  expect(response?.status()).toBe(404);
  expect(await heading(window.page)).toBe('Nothing here');
  expect(await faultsBesides(404, window)).toEqual([]);
  expect(await (await fetch(`${sight.url}/foo/bar`)).json()).toMatchObject({ error: 'not_found' });
});

test('a session that ends while the page is open is said, with what opens it again', async () => {
  const { page } = await openWindow(sight.browser, sight.url);
  await enter(page);
  await settled(page);
  sight.bench.clock.advance(40 * DAY_MS);
  await sight.bench.mirror('news');
  await lookAgain(page);
  await page.getByText('not signed in').waitFor();
  expect(await page.getByRole('status').first().innerText()).toContain('market-mirror keys page');
});

test('a browser without script is told what tells the same in a terminal', async () => {
  const context = await sight.browser.newContext({ javaScriptEnabled: false });
  try {
    const page = await context.newPage();
    await enter(page);
    await page.locator('noscript').waitFor();
    expect(await page.locator('body').innerText()).toBe(
      'This page needs JavaScript; market-mirror status and market-mirror query tell the same in a terminal.',
    );
  } finally {
    await context.close();
  }
});
