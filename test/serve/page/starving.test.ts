/** One viewer takes all there is, and others see the page all the same. */

import { createServer, request, type ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import type { Download } from '../../../src/serve/ui/wire.ts';
import { listenOnLoopback } from '../../helpers/loopback.ts';
import { cookieIn, linesIn, rowsIn, setupPage } from './support.ts';

const ENDLESS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';
const ENDLESS_ROWS =
  'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT hex(randomblob(500)) FROM n';

async function setup() {
  const page = await setupPage({ walked: [] });
  const cookie = await page.comeByLink();
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const greedy = (path: string, body?: unknown) =>
    body === undefined
      ? fetch(`${page.url}${path}`, { headers: { cookie: page.cookie }, signal: leaving.signal })
      : page.post(path, body, {}, leaving.signal);
  /** What another session gets for a question, and how long it took. */
  const other = async () => {
    const askedAt = performance.now();
    const answer = await page.post('/page/query', { sql: 'SELECT 1', limit: 1 }, { cookie });
    const rows = rowsIn(linesIn(await answer.text()));
    return { status: answer.status, rows, ms: performance.now() - askedAt };
  };
  return { ...page, other, greedy, otherCookie: cookie, leave: () => leaving.abort() };
}

const answered = { status: 200, rows: [[1]] };

test('60 endless questions of one session: the question of another starts within a second, and one of them is told why it ended', async () => {
  const { greedy, other } = await setup();
  const ended: string[] = [];
  const asked = Array.from({ length: 60 }, async () => {
    const text = await (await greedy('/page/query', { sql: ENDLESS, limit: 1 })).text();
    ended.push(text);
  });
  for (const each of asked) each.catch(() => undefined);
  // Those beyond the places have been refused.
  await expect.poll(() => ended.length).toBeGreaterThanOrEqual(24);
  for (let round = 0; round < 3; round += 1) {
    const { ms, ...answer } = await other();
    expect(answer).toEqual(answered);
    // A second, and what a busy machine may take: less than until one of the endless ones has had its time.
    expect(ms).toBeLessThan(20_000);
  }
  await expect.poll(() => ended.join()).toContain('to make room for another viewer');
});

test('answers of one session that nobody reads: the question of another is answered', async () => {
  const { service, link, other } = await setup();
  const answers: ServerResponse[] = [];
  const server = createServer((question, answer) => {
    if (question.method === 'POST') answers.push(answer);
    service.handle(question, answer);
  });
  const { url, port, close } = await listenOnLoopback(server);
  onTestFinished(close);
  const cookie = cookieIn((await fetch(url + link(), { redirect: 'manual' })).headers);
  const headers = { cookie, 'content-type': 'application/json' };
  for (let question = 0; question < 4; question += 1) {
    const asked = request({ port, path: '/page/query', method: 'POST', headers });
    onTestFinished(() => void asked.destroy());
    // Somebody listens for the answer, or Node.js would throw it away.
    asked.on('response', () => undefined).on('error', () => undefined);
    asked.end(JSON.stringify({ sql: ENDLESS_ROWS, limit: 100_000 }));
  }
  let seen = '';
  const isStalled = () => {
    const before = seen;
    seen = answers.map(({ writableLength }) => writableLength).join();
    return answers.filter(({ writableNeedDrain }) => writableNeedDrain).length === 4 && seen === before;
  };
  // From then on the system's buffers are full.
  await expect.poll(isStalled).toBe(true);
  const { ms, ...answer } = await other();
  expect(answer).toEqual(answered);
  expect(ms).toBeLessThan(20_000);
});

test('an account that has all places by its page has none left for its questions to /mirror/v1', async () => {
  const { url, issue, post, comeByKey } = await setupPage({ settings: { query: true } });
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const { key } = issue({ scopes: ['page:read', 'news:read'] });
  const headers = { cookie: await comeByKey(key) };
  let refused = 0;
  for (let question = 0; question < 37; question += 1)
    post('/page/query', { sql: ENDLESS, limit: 1 }, headers, leaving.signal).then(
      ({ status }) => {
        refused += Number(status === 503);
      },
      () => undefined,
    );
  await expect.poll(() => refused).toBe(1);
  const asked = await fetch(`${url}/mirror/v1/news`, { headers: { authorization: `Bearer ${key}` } });
  expect([asked.status, await asked.json()]).toMatchObject([503, { details: 'too many questions wait' }]);
});

test('200 event streams of one session: another listens, too, and asks', async () => {
  const { greedy, get, other, otherCookie } = await setup();
  // Held on to: what nobody holds is cut off when memory is collected.
  const streams = await Promise.all(Array.from({ length: 200 }, () => greedy('/page/events')));
  expect(streams.filter(({ status }) => status === 200)).toHaveLength(64);
  expect(await other()).toMatchObject(answered);
  const heard = await get('/page/events', { cookie: otherCookie });
  expect(heard.status).toBe(200);
  const reader = (heard.body as ReadableStream<Uint8Array>).getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toContain('retry');
  await reader.cancel();
  expect(streams.filter(({ status }) => status === 503)).toHaveLength(136);
});

test('70 downloads of one session, and two that never end: another orders one and takes it', async () => {
  const { greedy, get, post, other, otherCookie } = await setup();
  const orders: number[] = [];
  const paths: string[] = [];
  const order = async (sql: string) => {
    const answer = await greedy('/page/downloads', { format: 'csv', sql });
    orders.push(answer.status);
    if (answer.status === 200) paths.push(((await answer.json()) as Download).path);
  };
  // Two that never end will do: the process of a query that ended serves the next one.
  for (let endless = 0; endless < 2; endless += 1) await order(ENDLESS_ROWS);
  for (let some = 0; some < 68; some += 17)
    await Promise.all(Array.from({ length: 17 }, () => order('SELECT 1')));
  expect(orders.filter((status) => status === 200)).toHaveLength(64);
  for (const path of paths.slice(0, 2)) await (await greedy(path)).body?.getReader().read();
  expect(await other()).toMatchObject(answered);
  const ordered = await post(
    '/page/downloads',
    { format: 'csv', sql: 'SELECT 1 AS a' },
    { cookie: otherCookie },
  );
  const { path } = (await ordered.json()) as Download;
  const answer = await get(path, { cookie: otherCookie });
  expect([answer.status, await answer.text()]).toEqual([200, 'a\n1\n']);
});

test('all sessions of one account are one viewer', async () => {
  const { issue, post, other, comeByKey } = await setup();
  const { key } = issue({ scopes: ['page:read'] });
  const cookies = await Promise.all(Array.from({ length: 4 }, () => comeByKey(key)));
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  for (const cookie of cookies)
    post('/page/query', { sql: ENDLESS, limit: 1 }, { cookie }, leaving.signal)
      .then((answer) => answer.text())
      .catch(() => undefined);
  const { ms, ...answer } = await other();
  expect(answer).toEqual(answered);
  expect(ms).toBeLessThan(20_000);
});
