import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { both, change, editBefore, insert, move, publish, remove } from '../helpers/edits.ts';
import { type ServeBenchOptions, setupServe } from '../helpers/serve-bench.ts';
import { ANEW, upstreamKeys } from '../reading/pages/support.ts';
import { keepFor, passDays } from '../store/support.ts';
import { getter, pageIn, walkPages } from './client.ts';

const NEWS = '/api/v1/news';
const SIGNALS = '/api/v1/ai-signals';
const MINUTE = 60_000;

async function setupGuest(options: ServeBenchOptions = {}) {
  const serve = await setupServe({ rows: 120, ...options });
  const get = getter(serve.url, serve.issue().key);
  return { ...serve, get, dataset: (job: string) => serve.bench.upstream(job) };
}

describe('an answer tells of its moment', () => {
  test('which it is, how it was proven, since when, and how old that is', async () => {
    const { bench, get } = await setupGuest({ walked: ['news'] });
    const { startedAt } = await bench.mirror('news');
    bench.clock.advance(90_500);
    const { headers } = await get(NEWS);
    expect(headers).toMatchObject({
      'x-mirror-verdict': 'verified',
      'x-mirror-complete-as-of': startedAt,
      age: String(Math.floor((bench.clock.now() - Date.parse(startedAt)) / 1_000)),
      'cache-control': expect.stringContaining('private'),
    });
    expect(headers['x-mirror-seq']).toMatch(/^\d+$/);
  });

  test('nothing before the first walk has ended: 503 and when to ask again', async () => {
    const { bench, get } = await setupGuest({ walked: [] });
    const signal = new AbortController();
    const stopped = bench.mirror('news', () => signal.abort(), signal.signal).catch(() => undefined);
    await stopped;
    expect(bench.table('news').size).toBeGreaterThan(0);
    const before = await get(NEWS);
    expect(before).toMatchObject({ status: 503, json: { error: 'service_unavailable' } });
    expect(Number(before.headers['retry-after'])).toBeGreaterThan(0);
    await bench.mirror('news');
    expect(await get(NEWS)).toMatchObject({ status: 200 });
  });

  test('a union says so, and of no time that it is complete', async () => {
    const { bench, get, dataset } = await setupGuest({ walked: [] });
    editBefore(bench, 'news', { 2: move(0, 110) });
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'union' });
    const { status, headers, json } = await get(`${NEWS}?limit=1`);
    expect(status).toBe(200);
    expect(headers).toMatchObject({ 'x-mirror-verdict': 'union' });
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(['x-mirror-complete-as-of']));
    expect(headers).not.toHaveProperty('age');
    expect(json).toMatchObject({ pagination: { total: dataset('news').rows.length } });
  });

  test('what is older than MIRROR_SERVE_MAX_AGE is not answered, until it is proven anew', async () => {
    const { bench, get } = await setupGuest({ settings: { maxAgeMs: { news: 10 * MINUTE } } });
    bench.clock.advance(9 * MINUTE);
    expect(await get(NEWS)).toMatchObject({ status: 200 });
    bench.clock.advance(2 * MINUTE);
    expect(await get(NEWS)).toMatchObject({ status: 503, headers: { 'retry-after': expect.anything() } });
    expect(await get('/api/v1/meme-signals')).toMatchObject({ status: 200 });
    await bench.mirror('news');
    expect(await get(NEWS)).toMatchObject({ status: 200 });
  });
});

describe('pages of one moment', () => {
  test('do not tear: whoever sends the seq back sees the rows as they were, whatever is written', async () => {
    const { bench, get, dataset } = await setupGuest();
    const first = await get(`${NEWS}?limit=100`);
    const seq = String(first.headers['x-mirror-seq']);
    const then = upstreamKeys(bench, 'news');
    both(insert(0, 30), both(remove(60, 20), change(80, { title: 'another' })))(dataset('news'));
    await bench.mirror('news');
    await bench.mirror('news');
    const field = dataset('news').idField;
    const rows = await walkPages(get, NEWS, `&seq=${seq}`);
    expect(rows.map((row) => row[field])).toEqual(then);
    expect(rows.slice(0, 100)).toEqual(pageIn(first).rows);
    const now = await walkPages(get, NEWS);
    expect(now.map((row) => row[field])).toEqual(upstreamKeys(bench, 'news'));
  });

  test('a moment before the history that is kept is gone', async () => {
    const { bench, get, dataset } = await setupGuest({ walked: ['news'] });
    const { headers } = await get(NEWS);
    for (let day = 0; day < 6; day += 1) {
      change(3, { title: `day ${day}` })(dataset('news'));
      await bench.mirror('news');
      passDays(bench, 1);
    }
    await bench.store.prune(bench.job('news'), keepFor({ history: 2 }));
    const gone = await get(`${NEWS}?seq=${headers['x-mirror-seq']}`);
    expect(gone).toMatchObject({ status: 410, json: { error: 'seq_gone' } });
    expect(await get(NEWS)).toMatchObject({ status: 200 });
  });

  test('a published snapshot is served as of its last proof, without what came or waits since', async () => {
    const { bench, get, dataset } = await setupGuest();
    const proven = upstreamKeys(bench, 'ai-signals');
    const { generatedAt } = dataset('ai-signals');
    editBefore(bench, 'ai-signals', { 2: both(insert(0, 3), publish(ANEW)) });
    const stop = new AbortController();
    await bench.mirror('ai-signals', () => stop.abort(), stop.signal).catch(() => undefined);
    const rows = await walkPages(get, SIGNALS);
    expect(rows.map(({ id }) => id)).toEqual(proven);
    expect((await get(SIGNALS)).json).toMatchObject({ generatedAt });
    publish(ANEW)(dataset('ai-signals'));
    remove(5, 2)(dataset('ai-signals'));
    await bench.mirror('ai-signals');
    const after = await walkPages(get, SIGNALS);
    expect(after.map(({ id }) => id)).toEqual(upstreamKeys(bench, 'ai-signals'));
    expect((await get(SIGNALS)).json).toMatchObject({ generatedAt: ANEW });
  });
});

describe('a page that the client has already', () => {
  test('is not sent again, and costs nothing, with whatever key', async () => {
    const { get, url, issue } = await setupGuest({ walked: ['news'] });
    const other = getter(url, issue({ name: 'other' }, quota(3)).key);
    const first = await get(`${NEWS}?limit=5`);
    const etag = String(first.headers['etag']);
    expect(etag).toMatch(/^W\/"/);
    for (const sent of [etag, `"x", ${etag}`, etag.slice(2), '*'])
      for (const round of [1, 2]) {
        const again = await other(`${NEWS}?limit=5`, { 'if-none-match': sent });
        expect([round, again.status, again.bytes.length]).toEqual([round, 304, 0]);
        expect(again.headers).toMatchObject({ etag, 'x-ratelimit-remaining': '3' });
      }
    expect(await other(`${NEWS}?limit=6`, { 'if-none-match': etag })).toMatchObject({ status: 200 });
  });

  test('is another one when a row changed, or when a volatile value moved', async () => {
    const { bench, get, dataset } = await setupGuest();
    const known = async (path: string) => ({
      'if-none-match': String((await get(path)).headers['etag']),
    });
    const [news, signals] = [await known(NEWS), await known(SIGNALS)];
    await bench.mirror('news');
    expect(await get(NEWS, news)).toMatchObject({ status: 304 });
    change(0, { title: 'another' })(dataset('news'));
    await bench.mirror('news');
    expect(await get(NEWS, news)).toMatchObject({ status: 200 });
    await bench.mirror('ai-signals');
    expect(await get(SIGNALS, signals)).toMatchObject({ status: 304 });
    const quality = { ...(dataset('ai-signals').rows[3]?.['quality'] as object), ageSeconds: 99_999 };
    change(3, { quality })(dataset('ai-signals'));
    publish(ANEW)(dataset('ai-signals'));
    await bench.mirror('ai-signals');
    expect(await get(SIGNALS, signals)).toMatchObject({ status: 200 });
  });
});

describe('filters', () => {
  test('leave some rows of a moment, in its order, and count them', async () => {
    const { get, dataset } = await setupGuest({ walked: ['news'] });
    const { rows, idField } = dataset('news');
    const category = String(rows[0]?.['category']);
    const expected = rows.filter((row) => row['category'] === category).map((row) => row[idField]);
    const query = `&category=${encodeURIComponent(category.toUpperCase())}`;
    const found = await walkPages(get, NEWS, query);
    expect(found.map((row) => row[idField])).toEqual(expected);
    const { pagination } = pageIn(await get(`${NEWS}?limit=2${query}`));
    expect(pagination).toMatchObject({ total: expected.length, returned: 2, hasMore: true });
  });

  test('are paged through at one moment, too, and have ETags of their own', async () => {
    const { bench, get, dataset } = await setupGuest({ walked: ['news'] });
    const category = String(dataset('news').rows[0]?.['category']);
    const query = `&category=${category}`;
    const first = await get(`${NEWS}?limit=100${query}`);
    const etag = String(first.headers['etag']);
    expect(etag).not.toBe((await get(`${NEWS}?limit=100`)).headers['etag']);
    expect(await get(`${NEWS}?limit=100${query}`, { 'if-none-match': etag })).toMatchObject({ status: 304 });
    change(0, { category: 'another' })(dataset('news'));
    await bench.mirror('news');
    const seq = first.headers['x-mirror-seq'];
    expect(pageIn(await get(`${NEWS}?limit=100${query}&seq=${seq}`)).rows).toEqual(pageIn(first).rows);
    expect(pageIn(await get(`${NEWS}?limit=100${query}`)).rows).toEqual(pageIn(first).rows.slice(1));
  });
});

test.each([
  ['br', brotliDecompressSync],
  ['gzip', gunzipSync],
] as const)('a page comes as %s to who takes it so, the same page', async (encoding, decompress) => {
  const { get } = await setupGuest({ walked: ['news'] });
  const plain = await get(`${NEWS}?limit=100`);
  for (const accepted of [encoding, `identity;q=0.5, ${encoding}`])
    for (const _ of ['read', 'kept']) {
      const { headers, bytes } = await get(`${NEWS}?limit=100`, { 'accept-encoding': accepted });
      expect(headers).toMatchObject({ 'content-encoding': encoding, etag: plain.headers['etag'] });
      expect(headers['vary']).toMatch(/accept-encoding/i);
      expect(bytes.length).toBeLessThan(plain.bytes.length / 2);
      expect(decompress(bytes)).toEqual(plain.bytes);
    }
});

test('rows of a dataset without a shown shape come as they were received, byte for byte', async () => {
  const { bench, get } = await setupGuest({ walked: [] });
  const row = '{"id":"n1","size":12345678901234567890,"Ä":[1.0,{"b":null,"a":1e2}],"text":"\\u00e9\\/"}';
  bench.model.faults = [
    () => (answer) => ({
      ...answer,
      body: Buffer.from(`{"rows":[${row}],"pagination":{"returned":1,"hasMore":false,"total":1}}`),
    }),
  ];
  await bench.mirror('news');
  expect((await get(NEWS)).bytes.toString()).toContain(`"rows":[${row}]`);
});

const quota = (calls: number) => ({ quota: { kind: 'fixed' as const, calls, periodMs: 86_400_000 } });
