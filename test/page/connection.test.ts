import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openWindow } from '../helpers/browser.ts';
import { listenOnLoopback } from '../helpers/loopback.ts';
import { openSight, type Sight, settled } from './support.ts';

let sight: Sight;
beforeAll(async () => {
  sight = await openSight({ rows: 30, walked: ['news'] });
});
afterAll(() => sight.close());

test('a service that went away is said, what was seen stays, and it comes back by itself', async () => {
  const { handle } = sight.service;
  const first = await listenOnLoopback(createServer(handle));
  const { page } = await openWindow(sight.browser, first.url);
  await page.goto(`${first.url}/`);
  await settled(page);
  await first.close();
  await page.getByText('The service went away; trying again.').waitFor();
  expect(await page.locator('nav').innerText()).toContain('news');
  const second = await listenOnLoopback(createServer(handle), first.port);
  try {
    await page.locator('.connection.live').waitFor();
    expect(await page.getByText('The service went away').count()).toBe(0);
  } finally {
    await second.close();
  }
});
