/** What a question of `/mirror/v1` costs, and when: before anything is planned or read. Proved by what is asked of the query processes. */

import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openServeBench, type ServeBench, setupServe } from '../../helpers/serve-bench.ts';
import { type Got, getter } from '../client.ts';
import { limitsOf } from '../support.ts';

const ENDLESS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';
/** It looks at all rows, for seconds where they are many. */
const SLOW = `/mirror/v1/news?limit=1&offset=1999&${Array(60)
  .fill(`headline=not.ilike.*${'_*'.repeat(30)}no`)
  .join('&')}`;

const left = ({ headers }: Got) => headers['x-ratelimit-remaining'];

let serve: ServeBench;
beforeAll(async () => {
  const settings = { query: true, page: 'open' } as const;
  serve = await openServeBench({ rows: 130, settings, pool: { processes: 1 } });
});
afterAll(() => serve.close());

let accounts = 0;
/** An account with so many calls a day. */
function client({ url, issue }: ServeBench, calls: number) {
  accounts += 1;
  const { key } = issue({ name: `client ${accounts}` }, limitsOf(`${calls}/1d`));
  const get = getter(url, key);
  return {
    key,
    get,
    remaining: async () => Number(left(await get('/api/v1/news', { 'if-none-match': '*' }))),
  };
}

/** Takes the one process for questions. @returns whether it still has it. */
async function holdProcess({ url }: ServeBench) {
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  let isHeld = true;
  const answer = await fetch(`${url}/page/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sql: ENDLESS, limit: 1 }),
    signal: leaving.signal,
  });
  const reader = answer.body?.getReader();
  // The first line says that it runs.
  await reader?.read();
  void reader?.read().then(
    () => {
      isHeld = false;
    },
    () => undefined,
  );
  return () => isHeld;
}

test('a key whose quota is spent is refused before its question is read: the heaviest, right, wrong or to a mirror that is gone', async () => {
  const heaviest = [
    `/mirror/v1/ai_signals?dual_ai->>a=in.(${Array(3_800).fill(1)})&limit=1`,
    `/mirror/v1/news?select=${Array(3_900).fill('*')}`,
    `/mirror/v1/news?${'n'.repeat(7_900)}=eq.1`,
    `/mirror/v1/news?or=(${Array(800).fill('id.eq.1')})`,
    SLOW,
    '/mirror/v1/changes?limit=1000',
    `/api/v1/news?q=${Array(2_500).fill('a').join('+')}`,
  ];
  const { get } = client(serve, 1);
  expect(left(await get('/api/v1/news?limit=1'))).toBe('0');
  const isHeld = await holdProcess(serve);
  const file = join(serve.bench.dir, 'mirror.db');
  renameSync(file, `${file}.away`);
  onTestFinished(() => {
    renameSync(`${file}.away`, file);
    serve.bench.clock.advance(1_000);
  });
  serve.bench.clock.advance(1_000);
  const rich = client(serve, 100);
  expect((await rich.get('/mirror/v1/news')).status, 'a plan would need the mirror').toBe(503);
  const answers = await Promise.all(heaviest.map((path) => get(path)));
  for (const { status, headers } of answers)
    expect([status, headers['retry-after'], headers['x-ratelimit-remaining']]).toEqual([
      429,
      expect.any(String),
      '0',
    ]);
  expect(isHeld()).toBe(true);
});

test.each([
  ['values', `id=in.(${Array(1_001).fill('x')})`],
  ['values in several', `id=in.(${Array(600).fill('x')})&asset=in.(${Array(401).fill('x')})`],
  ['values within a tree', `or=(id.in.(${Array(999).fill('x')}),asset.eq.a,asset.eq.b)`],
  ['values, most of them quoted', `id=not.in.(${Array(1_500).fill('"x"')})`],
  ['columns', `limit=1&select=${Array.from({ length: 1_001 }, (_, n) => `${n}:id`)}`],
])('a question has 1,000 %s at most, and it costs nothing to be told', async (_, query) => {
  const { get, remaining } = client(serve, 10);
  expect(await get(`/mirror/v1/ai_signals?${query}`)).toMatchObject({
    status: 400,
    json: { code: 'PGRST100', message: expect.stringMatching(/has 1,000 (values|columns) at most/) },
  });
  expect(await remaining()).toBe(10);
});

test('what the quota cannot pay is not computed, however often it is asked for; what it never can is refused for good', async () => {
  const [some, poor] = [client(serve, 2), client(serve, 1)];
  await some.get('/mirror/v1/news?limit=1');
  const isHeld = await holdProcess(serve);
  for (const path of [
    '/mirror/v1/news?limit=200',
    '/mirror/v1/news?limit=200',
    '/mirror/v1/changes?limit=101',
  ])
    expect(await some.get(path)).toMatchObject({
      status: 429,
      headers: { 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '1' },
      json: { code: 'MIRROR429', message: expect.stringContaining('more calls than the quota') },
    });
  for (const path of ['/mirror/v1/news', '/mirror/v1/news?limit=200', '/mirror/v1/changes?limit=101'])
    expect(await poor.get(path)).toMatchObject({
      status: 400,
      json: { code: '54000', hint: 'Ask for 100 rows at most (limit).' },
    });
  expect([isHeld(), await some.remaining(), await poor.remaining()]).toEqual([true, 1, 1]);
});

const object = { accept: 'application/vnd.pgrst.object+json' };

// What was taken and is not needed comes back; what was read costs its call, whatever came of it.
test.each<[status: number, left: number, path: string, headers?: Record<string, string>]>([
  [200, 98, '/mirror/v1/news?limit=500'],
  [200, 98, '/mirror/v1/news'],
  [200, 99, '/mirror/v1/news?limit=500&offset=100'],
  [200, 99, '/mirror/v1/news?id=eq.none'],
  [200, 99, '/mirror/v1/news?limit=0'],
  [200, 98, '/mirror/v1/news?limit=500&as_of=1s'],
  [200, 94, '/mirror/v1/changes?limit=1000'],
  [200, 99, '/mirror/v1/datasets'],
  [406, 99, '/mirror/v1/news?limit=2', object],
  [404, 99, '/mirror/v1/news/none'],
  [400, 99, `/mirror/v1/news?limit=130&select=${Array.from({ length: 700 }, (_, n) => `a${n}:_body`)}`],
  [400, 100, '/mirror/v1/news?nothing=eq.1'],
  [404, 100, '/mirror/v1/nothing'],
  [400, 100, '/mirror/v1/changes?since=x'],
  [400, 100, '/mirror/v1/changes?since=99999999999999'],
])('%i, and %i of 100 calls are left: %#', async (status, expected, path, headers = {}) => {
  serve.bench.clock.advance(2_000);
  const { get, remaining } = client(serve, 100);
  const got = await get(path, headers);
  expect([got.status, await remaining()]).toEqual([status, expected]);
  if (status === 200) expect(left(got)).toBe(String(expected));
});

describe('questions that go on for long', () => {
  const open = (questionMs?: number) =>
    setupServe({
      ...{ rows: 2_000, walked: ['news'], settings: { query: true } },
      ...(questionMs !== undefined && { questionMs }),
    });

  test('cost their call where they take too long', async () => {
    const { get, remaining } = client(await open(50), 10);
    const late = await get(SLOW.replace('limit=1', 'limit=500'));
    expect(late).toMatchObject({ status: 503, json: { code: '57014', message: 'the question was ended' } });
    expect(await remaining()).toBe(9);
  });

  test('cost their call where their client has gone', async () => {
    const bench = await open();
    const { remaining, key } = client(bench, 10);
    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${key}` };
    const asked = fetch(`${bench.url}${SLOW}`, { headers, signal: leaving.signal });
    asked.catch(() => undefined);
    await expect.poll(remaining).toBe(9);
    leaving.abort();
    await expect.poll(() => bench.log()).toMatch(/"route":"mirror-rows"[^\n]*"status":499/);
    expect(await remaining()).toBe(9);
  });

  test('cost those nothing that had no turn; a row by its key is answered beside them', async () => {
    const settings = { query: true, page: 'open' } as const;
    const bench = await setupServe({
      rows: 5,
      walked: ['news'],
      settings,
      pool: { processes: 1, waitMs: 1 },
    });
    await holdProcess(bench);
    const { get, remaining } = client(bench, 10);
    expect((await get('/mirror/v1/news')).status).toBe(503);
    expect(await remaining()).toBe(10);
    const [row] = bench.bench.sql<{ key: string }>('SELECT _key AS key FROM news LIMIT 1');
    expect((await get(`/mirror/v1/news/${row?.key}`)).status).toBe(200);
  });
});

test('a client that has the answer already is told so without a read, and for nothing', async () => {
  for (const path of ['/mirror/v1/changes?limit=300', '/mirror/v1/news?limit=300']) {
    const { get, remaining } = client(serve, 10);
    const etag = String((await get(path)).headers['etag']);
    const before = await remaining();
    const again = await get(path, { 'if-none-match': etag });
    expect([again.status, again.bytes.length, left(again), again.headers['etag']]).toEqual([
      304,
      0,
      String(before),
      etag,
    ]);
    expect(await remaining()).toBe(before);
  }
  const isHeld = await holdProcess(serve);
  const { get } = client(serve, 10);
  expect((await get('/mirror/v1/news', { 'if-none-match': '*' })).status).toBe(304);
  expect(isHeld()).toBe(true);
});

test('a client of the change feed gets another answer as soon as there is anything new, and only then', async () => {
  const { url, issue, bench } = await setupServe({
    rows: 20,
    walked: ['news', 'meme-signals'],
    settings: { query: true },
  });
  const get = getter(url, issue({ scopes: ['news:read', 'meme:read'] }).key);
  const all = await get('/mirror/v1/changes?limit=1000');
  const since = `/mirror/v1/changes?since=${(all.json as { next: string }).next}`;
  const empty = await get(since);
  const status = async (path: string, { headers }: Got) =>
    (await get(path, { 'if-none-match': String(headers['etag']) })).status;
  expect(await status(`${since}&limit=7`, empty), 'another question').toBe(200);
  await bench.mirror('news');
  expect(await status(since, empty), 'nothing has changed').toBe(304);
  bench.clock.advance(60_000);
  bench.upstream('meme-signals').rows.unshift(...bench.upstream('meme-signals').make(1));
  await bench.mirror('meme-signals');
  expect([await status(since, empty), await status('/mirror/v1/changes?limit=1000', all)]).toEqual([
    200, 200,
  ]);
  const next = await get(since);
  expect((next.json as { changes: unknown[] }).changes.length).toBe(1);
  expect(await status(since, next)).toBe(304);
  const less = getter(url, issue({ name: 'less', scopes: ['news:read'] }).key);
  const other = await less('/mirror/v1/changes?limit=1000');
  expect(other.headers['etag'], 'other datasets').not.toBe(all.headers['etag']);
});
