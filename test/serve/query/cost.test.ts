/** What a question of `/mirror/v1` costs, and when: before anything is planned or read. Proved by what is asked of the query processes. */

import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openServeBench, type ServeBench, setupServe } from '../../helpers/serve-bench.ts';
import { type Got, getter } from '../client.ts';

const DAY = 86_400_000;
const ENDLESS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';
/** It looks at all rows, for seconds where they are many. */
const SLOW = `/mirror/v1/news?limit=1&offset=1999&${Array(60)
  .fill(`headline=not.ilike.*${'_*'.repeat(30)}no`)
  .join('&')}`;

const left = ({ headers }: Got) => headers['x-ratelimit-remaining'];
const hidden = ({ json }: Got) => (json as { code: string }).code;

let serve: ServeBench;
beforeAll(async () => {
  serve = await openServeBench({
    rows: 130,
    settings: { query: true, page: 'open' },
    pool: { processes: 1 },
  });
});
afterAll(() => serve.close());

let accounts = 0;
/** An account with so many calls a day. */
function client({ url, issue }: ServeBench, calls: number) {
  accounts += 1;
  const quota = { kind: 'fixed' as const, calls, periodMs: DAY };
  const get = getter(url, issue({ name: `client ${accounts}` }, { quota }).key);
  return { get, remaining: async () => Number(left(await get('/api/v1/news', { 'if-none-match': '*' }))) };
}

/** One whose quota is spent. */
async function spentClient(bench: ServeBench) {
  const { get } = client(bench, 1);
  expect(left(await get('/api/v1/news?limit=1'))).toBe('0');
  return get;
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

describe('a key whose quota is spent', () => {
  const heaviest = [
    `/mirror/v1/news?_body->>a=in.(${Array(3_800).fill(1)})&limit=1`,
    `/mirror/v1/ai_signals?dual_ai->>a=in.(${Array(3_800).fill(1)})&limit=1`,
    `/mirror/v1/news?select=${Array(3_900).fill('*')}`,
    `/mirror/v1/news?select=${Array.from({ length: 700 }, (_, n) => `a${n}:_body->a`)}`,
    `/mirror/v1/news?${'n'.repeat(7_900)}=eq.1`,
    `/mirror/v1/news?or=(${Array(800).fill('id.eq.1')})`,
    `/mirror/v1/news?order=${Array(1_500).fill('_key')}`,
    SLOW,
    '/mirror/v1/changes?limit=1000',
    `/api/v1/news?q=${Array(2_500).fill('a').join('+')}`,
  ];

  test('is refused before its question is read: ten of the heaviest at once, right, wrong or to a mirror that is gone', async () => {
    const get = await spentClient(serve);
    const isHeld = await holdProcess(serve);
    const file = join(serve.bench.dir, 'mirror.db');
    renameSync(file, `${file}.away`);
    onTestFinished(() => {
      renameSync(`${file}.away`, file);
      serve.bench.clock.advance(1_000);
    });
    serve.bench.clock.advance(1_000);
    const rich = getter(serve.url, serve.issue({ name: `rich ${accounts}` }).key);
    expect((await rich('/mirror/v1/news')).status, 'a plan would need the mirror').toBe(503);
    const answers = await Promise.all([...heaviest, '/healthz'].map((path) => get(path)));
    expect(answers.map(({ status }) => status)).toEqual([...Array(10).fill(429), 200]);
    for (const { headers } of answers.slice(0, 10))
      expect(headers).toMatchObject({ 'retry-after': expect.any(String), 'x-ratelimit-remaining': '0' });
    expect(isHeld()).toBe(true);
  });

  test('so is one with as many requests in flight as it may have', async () => {
    const waiting: (() => void)[] = [];
    const bench = await setupServe({
      rows: 5,
      walked: ['news'],
      settings: { query: true },
      beforeAnswer: () => new Promise((resolve) => waiting.push(resolve)),
    });
    const get = getter(bench.url, bench.issue({}, { concurrency: 1 }).key);
    const first = get('/mirror/v1/news');
    await expect.poll(() => waiting.length).toBe(1);
    expect((await get('/mirror/v1/news?nothing=eq.1')).status, 'its mistake is not looked for').toBe(429);
    waiting[0]?.();
    expect((await first).status).toBe(200);
  });
});

describe('a question', () => {
  test.each([
    ['in one list', `id=in.(${Array(1_001).fill('x')})`],
    ['in several', `id=in.(${Array(600).fill('x')})&asset=in.(${Array(401).fill('x')})`],
    ['within a tree', `or=(id.in.(${Array(999).fill('x')}),asset.eq.a,asset.eq.b)`],
    ['most of them quoted', `id=not.in.(${Array(1_500).fill('"x"')})`],
  ])('has 1,000 values at most: %s', async (_, query) => {
    const { get } = client(serve, 10);
    const { status, json } = await get(`/mirror/v1/ai_signals?${query}`);
    expect([status, json]).toEqual([
      400,
      {
        code: 'PGRST100',
        message: 'a question has 1,000 values at most',
        details: null,
        hint: 'Ask in several questions.',
      },
    ]);
  });

  test('may select 1,000 columns, and * once', async () => {
    const { get } = client(serve, 100);
    const select = (count: number) =>
      `/mirror/v1/news?limit=1&select=${Array.from({ length: count }, (_, n) => `${n}:id`)}`;
    expect((await get(select(1_000))).status).toBe(200);
    expect(await get(select(1_001))).toMatchObject({
      status: 400,
      json: { code: 'PGRST100', message: 'select has 1,000 columns at most' },
    });
    const [once, often] = [
      await get('/mirror/v1/news?limit=1'),
      await get(`/mirror/v1/news?limit=1&select=${Array(3_900).fill('*')}`),
    ];
    expect(often.json).toEqual(once.json);
  });
});

describe('what the quota cannot pay', () => {
  test('is not computed, however often it is asked for', async () => {
    const { get, remaining } = client(serve, 10);
    for (let call = 0; call < 9; call += 1) await get('/mirror/v1/news?limit=1');
    const isHeld = await holdProcess(serve);
    for (let time = 0; time < 8; time += 1)
      expect(await get('/mirror/v1/news?limit=300')).toMatchObject({
        status: 429,
        headers: { 'x-ratelimit-limit': '10', 'x-ratelimit-remaining': '1' },
        json: { code: 'MIRROR429', message: expect.stringContaining('more calls than the quota') },
      });
    expect((await get('/mirror/v1/changes?limit=201')).status).toBe(429);
    expect([isHeld(), await remaining()]).toEqual([true, 1]);
  });

  test('and never can, is refused for good', async () => {
    const { get, remaining } = client(serve, 1);
    const isHeld = await holdProcess(serve);
    for (const path of ['/mirror/v1/news', '/mirror/v1/news?limit=200', '/mirror/v1/changes?limit=101'])
      expect(await get(path)).toMatchObject({
        status: 400,
        json: { code: '54000', hint: 'Ask for 100 rows at most (limit).' },
      });
    expect([isHeld(), await remaining()]).toEqual([true, 1]);
  });
});

describe('what was taken and is not needed comes back', () => {
  test.each([
    ['/mirror/v1/news?limit=500', 98],
    ['/mirror/v1/news', 98],
    ['/mirror/v1/news?limit=500&offset=100', 99],
    ['/mirror/v1/news?id=eq.none', 99],
    ['/mirror/v1/news?limit=0', 99],
    ['/mirror/v1/news?limit=500&as_of=1s', 98],
    ['/mirror/v1/changes?limit=1000', 94],
    ['/mirror/v1/datasets', 99],
    ['/mirror/v1/news?nothing=eq.1', 100],
    ['/mirror/v1/nothing', 100],
    ['/mirror/v1/changes?since=x', 100],
    ['/mirror/v1/changes?since=99999999999999', 100],
  ])('%s', async (path, expected) => {
    serve.bench.clock.advance(2_000);
    const { get, remaining } = client(serve, 100);
    const got = await get(path);
    expect([got.status, await remaining()]).toEqual([expect.any(Number), expected]);
    if (got.status < 300) expect(left(got)).toBe(String(expected));
  });
});

describe('what was read costs its call, whatever came of it', () => {
  test('a question that takes too long', async () => {
    const bench = await setupServe({
      rows: 2_000,
      walked: ['news'],
      settings: { query: true },
      questionMs: 50,
    });
    const { get, remaining } = client(bench, 10);
    const { status, json } = await get(SLOW.replace('limit=1', 'limit=500'));
    expect([status, json]).toMatchObject([503, { code: '57014', message: 'the question was ended' }]);
    expect(await remaining()).toBe(9);
  });

  test('a question whose client has gone', async () => {
    const bench = await setupServe({ rows: 2_000, walked: ['news'], settings: { query: true } });
    accounts += 1;
    const quota = { kind: 'fixed' as const, calls: 10, periodMs: DAY };
    const { key } = bench.issue({ name: `client ${accounts}` }, { quota });
    const headers = { authorization: `Bearer ${key}` };
    await getter(bench.url, key)('/mirror/v1/news?limit=1');
    const leaving = new AbortController();
    const asked = fetch(`${bench.url}${SLOW}`, { headers, signal: leaving.signal });
    asked.catch(() => undefined);
    const usage = async () => {
      const { json } = await getter(bench.url, key)('/api/v1/usage');
      return (json as { limits: { quota: { remaining: number } } }).limits.quota.remaining;
    };
    // Each look costs a call, too.
    await expect.poll(usage).toBeLessThan(9);
    leaving.abort();
    await expect.poll(() => bench.log()).toMatch(/"route":"mirror-rows"[^\n]*"status":499/);
    const before = await usage();
    expect(before + looks(bench.log())).toBe(10 - 2);
  });

  test('an answer that is too large, and one that is no single row', async () => {
    const { get, remaining } = client(serve, 10);
    const accept = 'application/vnd.pgrst.object+json';
    expect(await get('/mirror/v1/news?limit=2', { accept })).toMatchObject({ status: 406 });
    expect(await remaining()).toBe(9);
    const wide = `/mirror/v1/news?limit=130&select=${Array.from({ length: 700 }, (_, n) => `a${n}:_body`)}`;
    const large = await get(wide);
    expect([large.status, hidden(large)]).toEqual([400, '54000']);
    expect(await remaining()).toBe(8);
    expect((await get('/mirror/v1/news/none')).status).toBe(404);
    expect(await remaining()).toBe(7);
  });

  test('but not a question that had no turn, or had to give way', async () => {
    const bench = await setupServe({
      rows: 5,
      walked: ['news'],
      settings: { query: true, page: 'open' },
      pool: { processes: 1, waitMs: 1 },
    });
    await holdProcess(bench);
    const { get, remaining } = client(bench, 10);
    expect((await get('/mirror/v1/news')).status).toBe(503);
    expect(await remaining()).toBe(10);
  });
});

const looks = (log: string) => log.match(/"route":"usage"[^\n]*"status":200/g)?.length ?? 0;

test('a row by its key is answered beside questions that take all processes', async () => {
  const bench = await setupServe({
    rows: 5,
    walked: ['news'],
    settings: { query: true, page: 'open' },
    pool: { processes: 1, waitMs: 1 },
  });
  const { get } = client(bench, 10);
  const [row] = bench.bench.sql<{ key: string }>('SELECT _key AS key FROM news LIMIT 1');
  await holdProcess(bench);
  expect((await get('/mirror/v1/news')).status).toBe(503);
  expect((await get(`/mirror/v1/news/${row?.key}`)).status).toBe(200);
});

describe('a client that has the answer already', () => {
  test.each(['/mirror/v1/changes?limit=300', '/mirror/v1/news?limit=300', '/mirror/v1/datasets'])(
    'is told so without a read, and for nothing: %s',
    async (path) => {
      const { get, remaining } = client(serve, 10);
      const { headers } = await get(path);
      const etag = headers['etag'];
      // What the service says of its datasets has an age, and no tag.
      if (etag === undefined) return expect(path).toContain('datasets');
      const before = await remaining();
      const isHeld = await holdProcess(serve);
      const again = await get(path, { 'if-none-match': String(etag) });
      expect([again.status, again.bytes.length, left(again)]).toEqual([304, 0, String(before)]);
      expect(again.headers['etag']).toBe(etag);
      expect([isHeld(), await remaining()]).toEqual([true, before]);
    },
  );

  test('of the change feed gets another one as soon as there is anything new, and only then', async () => {
    const bench = await setupServe({ rows: 20, walked: ['news', 'meme-signals'], settings: { query: true } });
    const key = bench.issue({ scopes: ['news:read', 'meme:read'] }).key;
    const get = getter(bench.url, key);
    const all = await get('/mirror/v1/changes?limit=1000');
    const since = `/mirror/v1/changes?since=${(all.json as { next: string }).next}`;
    const empty = await get(since);
    const status = async (path: string, { headers }: Got) =>
      (await get(path, { 'if-none-match': String(headers['etag']) })).status;
    expect([await status(since, empty), await status('/mirror/v1/changes?limit=1000', all)]).toEqual([
      304, 304,
    ]);
    expect(await status(`${since}&limit=7`, empty), 'another question').toBe(200);
    await bench.bench.mirror('news');
    expect(await status(since, empty), 'nothing has changed').toBe(304);
    bench.bench.clock.advance(60_000);
    bench.bench.upstream('meme-signals').rows.unshift(...bench.bench.upstream('meme-signals').make(1));
    await bench.bench.mirror('meme-signals');
    expect([await status(since, empty), await status('/mirror/v1/changes?limit=1000', all)]).toEqual([
      200, 200,
    ]);
    const next = await get(since);
    expect((next.json as { changes: unknown[] }).changes.length).toBe(1);
    expect(await status(since, next)).toBe(304);
    const less = getter(bench.url, bench.issue({ name: 'less', scopes: ['news:read'] }).key);
    const other = await less('/mirror/v1/changes?limit=1000');
    expect(other.headers['etag'], 'other datasets').not.toBe(all.headers['etag']);
  });
});
