import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openWindow } from '../helpers/browser.ts';
import { openSight, type Sight, settled } from './support.ts';

let sight: Sight;
beforeAll(async () => {
  sight = await openSight({ rows: 30, walked: ['news'] });
});
afterAll(() => sight.close());

test('a service that went away is said, what was seen stays, and it comes back by itself', async () => {
  const first = await serveOn(0, sight.service.handle);
  const { port } = first.address() as AddressInfo;
  const { page } = await openWindow(sight.browser, `http://127.0.0.1:${port}`);
  await page.goto(`http://127.0.0.1:${port}/`);
  await settled(page);
  await end(first);
  await page.getByText('The service went away; trying again.').waitFor();
  expect(await page.locator('nav').innerText()).toContain('news');
  const second = await serveOn(port, sight.service.handle);
  try {
    await page.locator('.connection.live').waitFor();
    expect(await page.getByText('The service went away').count()).toBe(0);
  } finally {
    await end(second);
  }
});

async function serveOn(port: number, handle: RequestListener): Promise<Server> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return server;
}

async function end(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}
