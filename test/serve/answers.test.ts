import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { both, change, editBefore, insert, move, publish, remove } from '../helpers/edits.ts';
import { type ServeBenchOptions, setupServe } from '../helpers/serve-bench.ts';
import { ANEW, upstreamKeys } from '../reading/pages/support.ts';
import { keepFor, passDays } from '../store/support.ts';
import { getter, pageIn, walkPages } from './client.ts';
import { limitsOf } from './support.ts';

const NEWS = '/api/v1/news';
const SIGNALS = '/api/v1/ai-signals';
const MINUTE = 60_000;

async function setupGuest(options: ServeBenchOptions = {}) {
  const serve = await setupServe({ rows: 120, ...options });
  const get = getter(serve.url, serve.issue().key);
  return { ...serve, get, dataset: (job: string) => serve.bench.upstream(job) };
}

test('an answer tells which moment it shows, how that was proven, since when, and how old it is; byte for byte, compressed or not', async () => {
  const { bench, get } = await setupGuest({ walked: ['news'] });
  const { startedAt } = await bench.mirror('news');
  bench.clock.advance(90_500);
  const plain = await get(`${NEWS}?limit=100`);
  expect(plain.headers).toMatchObject({
    'x-mirror-seq': expect.stringMatching(/^\d+$/),
    'x-mirror-verdict': 'verified',
    'x-mirror-complete-as-of': startedAt,
    age: String(Math.floor((bench.clock.now() - Date.parse(startedAt)) / 1_000)),
    'cache-control': expect.stringContaining('private'),
  });
  for (const [encoding, decompress] of [
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const) {
    const accepted = { 'accept-encoding': `identity;q=0.5, ${encoding}` };
    const { headers, bytes } = await get(`${NEWS}?limit=100`, accepted);
    expect(headers).toMatchObject({ 'content-encoding': encoding, etag: plain.headers['etag'] });
    expect(headers['vary']).toMatch(/accept-encoding/i);
    expect(decompress(bytes)).toEqual(plain.bytes);
  }
});

test('nothing is shown before the first walk has ended: 503 and when to ask again', async () => {
  const { bench, get } = await setupGuest({ walked: [] });
  const stop = new AbortController();
  await bench.mirror('news', () => stop.abort(), stop.signal).catch(() => undefined);
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
  const { headers, json } = await get(`${NEWS}?limit=1`);
  expect(headers).toMatchObject({ 'x-mirror-verdict': 'union' });
  for (const name of ['x-mirror-complete-as-of', 'age']) expect(headers).not.toHaveProperty(name);
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

test('pages do not tear: whoever sends the seq back sees the rows as they were, filtered or not, whatever is written', async () => {
  const { bench, get, dataset } = await setupGuest();
  const { rows, idField } = dataset('news');
  const category = encodeURIComponent(String(rows[0]?.['category']).toUpperCase());
  const keysOf = (found: Record<string, unknown>[]) => found.map((row) => row[idField]);
  const filtered = () =>
    keysOf(dataset('news').rows.filter((row) => row['category'] === rows[0]?.['category']));
  const [then, thenFiltered] = [upstreamKeys(bench, 'news'), filtered()];
  const first = await get(`${NEWS}?limit=100`);
  const seq = String(first.headers['x-mirror-seq']);
  const { pagination } = pageIn(await get(`${NEWS}?limit=2&category=${category}`));
  expect(pagination).toMatchObject({ total: thenFiltered.length, returned: 2, hasMore: true });
  both(insert(0, 30), both(remove(60, 20), change(80, { title: 'another' })))(dataset('news'));
  for (let proof = 0; proof < 2; proof += 1) await bench.mirror('news');
  const again = await walkPages(get, NEWS, `&seq=${seq}`);
  expect(keysOf(again)).toEqual(then);
  expect(again.slice(0, 100)).toEqual(pageIn(first).rows);
  expect(keysOf(await walkPages(get, NEWS))).toEqual(upstreamKeys(bench, 'news'));
  expect(keysOf(await walkPages(get, NEWS, `&category=${category}&seq=${seq}`))).toEqual(thenFiltered);
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
  expect((await walkPages(get, SIGNALS)).map(({ id }) => id)).toEqual(proven);
  expect((await get(SIGNALS)).json).toMatchObject({ generatedAt });
  publish(ANEW)(dataset('ai-signals'));
  remove(5, 2)(dataset('ai-signals'));
  await bench.mirror('ai-signals');
  expect((await walkPages(get, SIGNALS)).map(({ id }) => id)).toEqual(upstreamKeys(bench, 'ai-signals'));
  expect((await get(SIGNALS)).json).toMatchObject({ generatedAt: ANEW });
});

test('a page that the client has is not sent again, and costs nothing, with whatever key; it is another once a row or a volatile value moved', async () => {
  const { bench, url, issue, get, dataset } = await setupGuest();
  const other = getter(url, issue({ name: 'other' }, limitsOf('3/1d')).key);
  const etagOf = async (path: string) => String((await get(path)).headers['etag']);
  const etag = await etagOf(`${NEWS}?limit=5`);
  expect(etag).toMatch(/^W\/"/);
  for (const sent of [etag, `"x", ${etag}`, etag.slice(2), '*']) {
    const again = await other(`${NEWS}?limit=5`, { 'if-none-match': sent });
    expect([again.status, again.bytes.length]).toEqual([304, 0]);
    expect(again.headers).toMatchObject({ etag, 'x-ratelimit-remaining': '3' });
  }
  for (const query of ['limit=6', 'limit=5&q=a'])
    expect(await other(`${NEWS}?${query}`, { 'if-none-match': etag })).toMatchObject({ status: 200 });

  const [news, signals] = [await etagOf(NEWS), await etagOf(SIGNALS)];
  const status = async (path: string, known: string) => (await get(path, { 'if-none-match': known })).status;
  for (const job of ['news', 'ai-signals']) await bench.mirror(job);
  expect([await status(NEWS, news), await status(SIGNALS, signals)]).toEqual([304, 304]);
  change(0, { title: 'another' })(dataset('news'));
  const quality = { ...(dataset('ai-signals').rows[3]?.['quality'] as object), ageSeconds: 99_999 };
  change(3, { quality })(dataset('ai-signals'));
  publish(ANEW)(dataset('ai-signals'));
  for (const job of ['news', 'ai-signals']) await bench.mirror(job);
  expect([await status(NEWS, news), await status(SIGNALS, signals)]).toEqual([200, 200]);
});

test('rows of a dataset without a shown shape come as they were received, byte for byte', async () => {
  const { bench, get } = await setupGuest({ walked: [] });
  const row = '{"id":"n1","size":12345678901234567890,"Ä":[1.0,{"b":null,"a":1e2}],"text":"\\u00e9\\/"}';
  const body = Buffer.from(`{"rows":[${row}],"pagination":{"returned":1,"hasMore":false,"total":1}}`);
  bench.model.faults = [() => (answer) => ({ ...answer, body })];
  await bench.mirror('news');
  expect((await get(NEWS)).bytes.toString()).toContain(`"rows":[${row}]`);
});
