/** The door of the page: a link or a key opens it, in all windows of a browser, until somebody signs out or the session ends. */

import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { DAY_MS } from '../../src/base/clock.ts';
import { openSessions } from '../../src/serve/access/sessions.ts';
import { openWindow, type Window } from '../helpers/browser.ts';
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
const closedDoor = 'Sign in with a link or a key';

/** Browsers note that a document came with such a status. */
const faultsBesides = async (status: number, window: Window) =>
  (await faultsOf(window)).filter((fault) => !fault.includes(`status of ${status}`));

test('a link opens the page and leaves no token in the address; who signs out is out, in all windows; a session that ends is said', async () => {
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
  await lookAgain(another);
  await another.getByText('not signed in').waitFor();

  await enter(page);
  await settled(page);
  sight.bench.clock.advance(40 * DAY_MS);
  await lookAgain(page);
  await page.getByText('not signed in').waitFor();
  expect(await page.getByRole('status').first().innerText()).toContain('market-mirror keys page');
});

test('without a good link a view says how to get one, and a key for the page opens it, typed and sent by the keyboard', async () => {
  const window = await openWindow(sight.browser, sight.url, { width: 390 });
  const { page } = window;
  const old = newLink();
  sight.bench.clock.advance(2 * DAY_MS);
  for (const [path, said] of [
    [old, 'This link is wrong, or too old'],
    [`${sight.url}/datasets/news`, closedDoor],
  ] as const) {
    await page.goto(path);
    expect(await heading(page)).toBe(said);
    expect(await page.locator('main').innerText()).toContain('market-mirror keys page');
  }
  expect(await faultsBesides(401, window)).toEqual([]);
  const keys = [
    ['no key', 'This key is not valid'],
    [sight.issue({ name: 'reader' }).key, 'This key does not open the page: it needs the scope page:read'],
    [sight.issue({ name: 'looker', scopes: ['page:read'] }).key, 'Overview'],
  ] as const;
  await page.goto(sight.url);
  for (const [key, said] of keys) {
    await page.getByLabel('Key').fill(key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: said }).waitFor();
  }
});

test('an address that there is not is said by a page of ours, and to a program as an error; without script a browser is told what helps', async () => {
  const window = await openWindow(sight.browser, sight.url, { width: 390, colorScheme: 'dark' });
  const response = await window.page.goto(`${sight.url}/foo/bar`);
  expect([response?.status(), await heading(window.page)]).toEqual([404, 'Nothing here']);
  expect(await (await fetch(`${sight.url}/foo/bar`)).json()).toMatchObject({ error: 'not_found' });
  const context = await sight.browser.newContext({ javaScriptEnabled: false });
  try {
    const page = await context.newPage();
    await enter(page);
    expect(await page.locator('body').innerText()).toMatch(/needs JavaScript; market-mirror status/);
  } finally {
    await context.close();
  }
});
