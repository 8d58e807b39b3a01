import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSessions } from '../../src/serve/ui/sessions.ts';
import { openWindow } from '../helpers/browser.ts';
import { faultsOf, openSight, type Sight, settled } from './support.ts';

let sight: Sight;
beforeAll(async () => {
  sight = await openSight({ walked: ['news'], settings: { page: 'token' } });
});
afterAll(() => sight.close());

const DAY_MS = 86_400_000;

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

/** Browsers note that a document came with 401. */
const faultsBesides401 = async (window: Parameters<typeof faultsOf>[0]) =>
  (await faultsOf(window)).filter((fault) => !fault.includes('status of 401'));

describe('a link', () => {
  test('opens the page, and leaves no token in the address', async () => {
    const window = await openWindow(sight.browser, sight.url);
    await enter(window.page);
    await settled(window.page);
    expect(await heading(window.page)).toBe('Overview');
    expect(window.messages).toEqual([]);
  });

  test('opens every view of it from then on, in other windows, too', async () => {
    const { context, page } = await openWindow(sight.browser, sight.url);
    await enter(page);
    const another = await context.newPage();
    await another.goto(`${sight.url}/datasets/news`);
    await settled(another);
    expect(await heading(another)).toBe('news');
  });

  test.each([
    ['that is wrong', () => `${sight.url}/?token=${'A'.repeat(43)}`],
    [
      'that is old',
      () => {
        const link = newLink();
        sight.bench.clock.advance(2 * DAY_MS);
        return link;
      },
    ],
  ])('%s is told so, with what gives a new one', async (_, link) => {
    const window = await openWindow(sight.browser, sight.url, { width: 390 });
    await window.page.goto(link());
    expect(await heading(window.page)).toBe('This link is wrong, or too old');
    expect(await window.page.locator('main').innerText()).toContain('market-mirror keys page');
    expect(await faultsBesides401(window)).toEqual([]);
  });
});

test('an address that there is not is said by a page of ours in a browser, and to a program as an error', async () => {
  const window = await openWindow(sight.browser, sight.url, { width: 390, colorScheme: 'dark' });
  const response = await window.page.goto(`${sight.url}/foo/bar`);
  expect(response?.status()).toBe(404);
  expect(await heading(window.page)).toBe('Nothing here');
  const found = await faultsOf(window);
  expect(found.filter((fault) => !fault.includes('status of 404'))).toEqual([]);
  expect(await (await fetch(`${sight.url}/foo/bar`)).json()).toMatchObject({ error: 'not_found' });
});

describe('without a link', () => {
  test('every view says how to get one, in light and dark', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const window = await openWindow(sight.browser, sight.url, { colorScheme });
      await window.page.goto(`${sight.url}/datasets/news`);
      expect(await heading(window.page)).toBe('This page opens by a link or a key');
      expect(await faultsBesides401(window)).toEqual([]);
    }
  });

  test('a key opens it, typed and sent by the keyboard', async () => {
    const { page } = await openWindow(sight.browser, sight.url);
    await page.goto(sight.url);
    await page.getByLabel('Key').fill('no key');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'This key is not valid' }).waitFor();
    await page.getByLabel('Key').fill(sight.issue({ name: 'looker', scopes: ['page:read'] }).key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  test('a key for data alone does not', async () => {
    const { page } = await openWindow(sight.browser, sight.url);
    await page.goto(sight.url);
    await page.getByLabel('Key').fill(sight.issue({ name: 'reader' }).key);
    await page.getByRole('button', { name: 'Open' }).click();
    expect(await heading(page)).toContain('page:read');
  });
});

test('who signs out is out, in all windows of that browser', async () => {
  const { context, page } = await openWindow(sight.browser, sight.url);
  await enter(page);
  await settled(page);
  const another = await context.newPage();
  await another.goto(`${sight.url}/walks`);
  await settled(another);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'This page opens by a link or a key' }).waitFor();
  expect(await context.cookies()).toEqual([]);
  await sight.bench.mirror('news');
  await another.getByText('not signed in').waitFor();
  await another.reload();
  expect(await heading(another)).toBe('This page opens by a link or a key');
});

test('a session that ends while the page is open is said, with what opens it again', async () => {
  const { page } = await openWindow(sight.browser, sight.url);
  await enter(page);
  await settled(page);
  sight.bench.clock.advance(40 * DAY_MS);
  await sight.bench.mirror('news');
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
