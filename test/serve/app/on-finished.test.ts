import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { getter } from '../client.ts';
import { setupWatched } from '../metrics/support.ts';

const NEWS = '/api/v1/news';

test('calls that wait behind one another on a connection all end with it', async () => {
  const { promise: held, resolve: release } = promised();
  let waiting = 0;
  const beforeAnswer = () => {
    waiting += 1;
    return held;
  };
  const { url, issue, scrape, log } = await setupWatched({ walked: ['news'], beforeAnswer });
  const keys = ['first', 'second'].map((name) => issue({ name }, { concurrency: 1 }).key);
  const { port } = new URL(url);
  const client = connect(Number(port), '127.0.0.1');
  for (const key of keys)
    client.write(`GET ${NEWS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  await expect.poll(() => waiting).toBe(2);
  client.destroy();
  const underWay = async () => (await scrape()).get('market_mirror_http_requests_in_progress');
  // The scrape is one itself.
  await expect.poll(underWay).toBe(1);
  release();
  for (const key of keys) expect(await getter(url, key)(NEWS)).toMatchObject({ status: 200 });
  expect(log().match(/"status":499/g)).toHaveLength(2);
});

function promised() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
