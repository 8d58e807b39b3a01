/** Questions of `/mirror/v1/<dataset>`, over HTTP, against one mirror of the model API that has all lists. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { faults, when } from '../../../model-api/index.ts';
import { openServeBench, type ServeBench, setupServe } from '../../helpers/serve-bench.ts';
import { type Get, type Got, getter } from '../client.ts';

let serve: ServeBench;
let get: Get;

beforeAll(async () => {
  serve = await openServeBench({ rows: 130, settings: { query: true, page: 'token' } });
  get = getter(serve.url, serve.issue().key);
});
afterAll(() => serve.close());

type Row = Record<string, unknown>;

const sql = (text: string, ...values: (string | number | null)[]) => serve.bench.sql(text, ...values);

const rowsIn = ({ json }: Got) => json as Row[];
const keysIn = (got: Got) => rowsIn(got).map(({ _key }) => _key);
const keysOf = (where: string, order = '_key', table = 'ai_signals') =>
  sql(`SELECT _key FROM ${table} WHERE ${where} ORDER BY ${order}, _key`).map(({ _key }) => _key);
const ask = (query: string, headers = {}) => get(`/mirror/v1/ai_signals?${query}`, headers);

const btc = `EXISTS (SELECT 1 FROM json_each(news.symbols) WHERE json_each.value = 'BTCUSDT')`;
const eth = btc.replace('BTC', 'ETH');

// Further ones are those of the client and of questions at random.
test.each([
  ['ai_signals', 'confidence=not.lte.5e-1', 'NOT confidence <= 0.5'],
  ['ai_signals', 'asset=in.()', 'false'],
  ['ai_signals', 'asset=in.(%20BTCUSDT,"SOLUSDT")%20', "asset IN ('BTCUSDT', 'SOLUSDT')"],
  ['ai_signals', 'asset=like.btc*', 'false'],
  ['ai_signals', 'asset=ilike.b_c%25', "asset LIKE 'b_c%'"],
  ['ai_signals', 'not.or=(quality_grade.eq.A,quality_grade.eq.B)', "quality_grade NOT IN ('A', 'B')"],
  ['ai_signals', 'or=(asset.eq.BTCUSDT)&or=(action.eq.BUY)', "asset = 'BTCUSDT' AND action = 'BUY'"],
  ['ai_signals', 'dual_ai->>confidence=gt.0.5', "dual_ai ->> 'confidence' > 0.5"],
  ['news', 'symbols=cs.{"BTCUSDT","ETHUSDT"}', `${btc} AND ${eth}`],
  ['news', 'symbols=not.cs.{BTCUSDT}', `NOT ${btc}`],
  ['news', 'or=(symbols.cs.{BTCUSDT,ETHUSDT},kind.eq.price)', `${btc} AND ${eth} OR kind = 'price'`],
  ['news', '_body->symbols=cs.{BTCUSDT}', btc],
  ['news', 'symbols=cs.{}', 'symbols IS NOT NULL'],
])(
  'a filter of %s leaves the rows that the same condition in SQL leaves: %s',
  async (table, query, where) => {
    const got = await get(`/mirror/v1/${table}?${query}&select=_key`);
    expect([got.status, keysIn(got)]).toEqual([200, keysOf(where, '_key', table)]);
  },
);

test('freshness is that of the datasets that the key may read, of now', async () => {
  const news = getter(serve.url, serve.issue({ name: 'fresh', scopes: ['news:read'] }).key);
  const [row] = sql("SELECT job, rows, verdict FROM freshness WHERE job = 'news'");
  const got = await news('/mirror/v1/freshness?select=job,rows,verdict&rows=gt.1');
  expect([got.status, got.json]).toEqual([200, [row]]);
  expect(rowsIn(await get('/mirror/v1/freshness?order=job'))).toHaveLength(4);
  expect(await news('/mirror/v1/freshness?as_of=1h')).toMatchObject({ status: 400 });
});

test('who finds it is told what there is, and where it is described', async () => {
  expect(await getter(serve.url)('/mirror/v1')).toMatchObject({
    status: 200,
    json: { paths: { '/mirror/v1/datasets': expect.any(String) } },
  });
  for (const path of ['/mirror/v1/nothing', '/api/v1/news', '/mirror/v1/news?limit=1'])
    expect((await get(path)).headers['link']).toBe('</openapi.json>; rel="service-desc"');
});

describe('rows are shown', () => {
  test('typed as their columns are, by job as by table', async () => {
    const [row] = rowsIn(await ask('limit=1'));
    const [stored = {}] = sql('SELECT * FROM ai_signals ORDER BY _key LIMIT 1');
    expect(Object.keys(row ?? {})).toEqual(Object.keys(stored));
    expect(row).toMatchObject({
      confidence: stored['confidence'],
      validator_allowed: stored['validator_allowed'] === 1,
      validator_reason_codes: JSON.parse(String(stored['validator_reason_codes'])),
      _held_since: null,
    });
    expect((await get('/mirror/v1/ai-signals?limit=1')).json).toEqual([row]);
  });

  test('with the columns that are selected, under other names, and members of JSON', async () => {
    const got = await ask(
      'select=asset,grade:quality_grade,codes:validator_reason_codes->0,validator_reason_codes->>1&limit=2',
    );
    const expected = sql(`SELECT asset, quality_grade AS grade, validator_reason_codes ->> 0 AS codes,
      validator_reason_codes ->> 1 AS validator_reason_codes FROM ai_signals ORDER BY _key LIMIT 2`);
    expect(got.json).toEqual(expected);
  });

  test.each([
    ['order=confidence.desc', 'confidence DESC NULLS FIRST'],
    ['order=regime.nullsfirst,asset.desc.nullslast', 'regime NULLS FIRST, asset DESC NULLS LAST'],
    ['order=dual_ai->>confidence.desc', "dual_ai ->> 'confidence' DESC NULLS FIRST"],
    ['', '_key'],
  ])('in the order %s', async (query, order) => {
    const got = await ask(`select=_key&${query}&limit=40&offset=7`);
    expect(keysIn(got)).toEqual(keysOf('true', order).slice(7, 47));
  });

  test('by the views over a dataset, as they stand now', async () => {
    const current = await get('/mirror/v1/news_current?symbols=cs.{BTCUSDT}&select=_key');
    expect(keysIn(current)).toEqual(keysOf(btc, '_key', 'news'));
    expect(rowsIn(await get('/mirror/v1/ai_signals_quality_checks?limit=3'))).toEqual(
      sql('SELECT * FROM ai_signals_quality_checks ORDER BY _key, position LIMIT 3'),
    );
    const changes = await get('/mirror/v1/news_changes?kind=eq.first&limit=1&select=kind,column,old');
    expect(rowsIn(changes)).toEqual([{ kind: 'first', column: null, old: null }]);
    expect((await get('/mirror/v1/news_current?as_of=2030-01-01')).status).toBe(400);
    const [described] = rowsIn(await get('/mirror/v1/datasets'));
    expect(described?.['views']).toContain('ai_signals_current');
  });
});

const exact = { prefer: 'count=exact' };

test.each([
  ['limit=25', {}, 200, '0-24/*'],
  ['limit=25', exact, 206, '0-24/130'],
  ['limit=25&offset=120', { prefer: 'count=planned' }, 206, '120-129/130'],
  ['', exact, 200, '0-129/130'],
  ['', {}, 200, '0-129/*'],
  ['asset=eq.none', {}, 200, '*/0'],
  ['limit=5&offset=500', {}, 200, '*/*'],
  ['limit=0', exact, 206, '*/130'],
  ['offset=131', exact, 416, undefined],
])('an answer says which of how many rows it has: %s %o', async (query, headers, status, range) => {
  const got = await ask(query, headers);
  expect([got.status, status === 416 ? undefined : got.headers['content-range']]).toEqual([status, range]);
  if (status === 416) expect(got.json).toMatchObject({ code: 'PGRST103' });
  else if ('prefer' in headers) expect(got.headers['preference-applied']).toBe(headers.prefer);
  const head = await get(`/mirror/v1/ai_signals?${query}`, headers, 'HEAD');
  expect([head.status, head.bytes.length, head.headers['content-range']]).toEqual([
    status,
    0,
    got.headers['content-range'],
  ]);
});

describe('forms', () => {
  const query = 'select=id,asset,confidence,validator_allowed&limit=2';
  test('CSV, with what a spreadsheet would run made harmless', async () => {
    const got = await ask(query, { accept: 'text/csv' });
    const lines = sql(
      'SELECT id, asset, confidence, validator_allowed FROM ai_signals ORDER BY _key LIMIT 2',
    ).map((row) => `${row['id']},${row['asset']},${row['confidence']},${row['validator_allowed'] === 1}\n`);
    expect(got.bytes.toString()).toBe(`id,asset,confidence,validator_allowed\n${lines.join('')}`);
    const risky = await ask('select=a:asset,%22=1%2B2%22:id&limit=1', { accept: 'text/csv' });
    expect(risky.bytes.toString().split('\n')[0]).toBe("a,'=1+2");
  });

  test('one object a line; one object, or 406; nothing else', async () => {
    const lines = (await ask(query, { accept: 'application/x-ndjson' })).bytes.toString().trimEnd();
    expect(lines.split('\n').map((line) => JSON.parse(line))).toEqual((await ask(query)).json);
    const accept = 'application/vnd.pgrst.object+json';
    const got = await ask('limit=1', { accept });
    expect([got.status, JSON.parse(got.bytes.toString())]).toEqual([200, rowsIn(await ask('limit=1'))[0]]);
    expect(await ask('limit=2', { accept })).toMatchObject({
      status: 406,
      json: { code: 'PGRST116', message: 'JSON object requested, multiple (or no) rows returned' },
    });
    for (const [path, type] of Object.entries({
      ai_signals: 'image/png',
      datasets: 'text/csv',
      changes: 'text/event-stream',
    }))
      expect(await get(`/mirror/v1/${path}`, { accept: type })).toMatchObject({
        status: 406,
        json: { code: 'PGRST107' },
      });
  });
});

test.each([
  ['ai_signals?confidense=gt.1', 400, '42703', /confidense.*confidence/],
  ['ai_signals?confidence=gt.high', 400, '22P02', /a number/],
  ['ai_signals?validator_allowed=eq.yes', 400, '22P02', /true or false/],
  ['ai_signals?asset=is.true', 400, '42804', /no booleans/],
  ['ai_signals?confidence=like.1*', 400, '42883', /no text/],
  ['ai_signals?asset->x=eq.1', 400, '42883', /no JSON/],
  ['ai_signals?asset=BTC', 400, 'PGRST100', /line 1/],
  ['ai_signals?asset=cs.{a}', 400, '42883', /no lists/],
  ['ai_signals_current?asset=cs.{a}', 400, '42883', /no lists/],
  ['news_changes?symbols=cs.{a}', 400, '42703', /There are seq, at, kind, _key, column, old, new/],
  ['freshness?dataset=eq.news', 400, '42703', /There are job, rows, .*complete_as_of/],
  ['ai_signals?asset=ov.{a}', 400, 'PGRST127', /not implemented/],
  ['ai_signals?select=id,news(headline)', 400, 'PGRST127', /not implemented/],
  ['ai_signals?select=count()', 400, 'PGRST127', /not implemented/],
  ['ai_signals?select=a:id,a:asset', 400, 'PGRST100', /named a/],
  ['ai_signals?order=asset.up', 400, 'PGRST100', /column/],
  ['ai_signals?limit=-1', 400, 'PGRST100', /whole number/],
  ['ai_signals?limit=1&limit=2', 400, 'PGRST100', /more than once/],
  ['ai_signals?or=(asset.eq.a', 400, 'PGRST100', /column/],
  ['ai_signals?and=(or(and(or(asset.eq.a))))', 400, 'PGRST100', /depth/],
  ['ai_signals?asset=eq.a%00b', 400, 'PGRST100', /NUL/],
  ['ai_signals?seq=x', 400, 'PGRST100', /seq/],
  ['ai_signals?as_of=2999-01-01T00:00:00Z', 400, 'PGRST100', /yet to come/],
  ['changes?limit=1&limit=2', 400, 'PGRST100', /more than once/],
  ['ai_signals/none?asset=eq.x', 400, 'PGRST100', /asset/],
  ['ai_signals/none', 404, 'PGRST116', /row/],
  ['usage', 404, 'PGRST205', /usage/],
  ['sqlite_master', 404, 'PGRST205', /sqlite_master/],
  ['news_nothing', 404, 'PGRST205', /news_nothing/],
  ['news/key/nothing', 404, 'PGRST125', /./],
])('what is refused says why: %s', async (path, status, code, said) => {
  const got = await get(`/mirror/v1/${path}`);
  expect([got.status, Object.keys(got.json as Row)]).toEqual([
    status,
    ['code', 'message', 'details', 'hint'],
  ]);
  expect(got.json).toMatchObject({ code });
  expect(JSON.stringify(got.json)).toMatch(said);
});

test('by key, scope, method and host, in the same form', async () => {
  const other = getter(serve.url, serve.issue({ name: 'other', scopes: ['news:read'] }).key);
  const answers = [
    await getter(serve.url)('/mirror/v1/news'),
    await other('/mirror/v1/ai_signals'),
    await get('/mirror/v1/news', {}, 'POST'),
    await get('/mirror/v1/news', { host: 'elsewhere.example' }),
  ];
  expect(answers.map(({ status, json }) => [status, (json as Row)['code']])).toEqual([
    [401, 'PGRST301'],
    [403, '42501'],
    [405, 'PGRST117'],
    [421, 'MIRROR421'],
  ]);
});

test('one row by its key, in each form, with its own ETag; once somebody has committed, as it is then', async () => {
  const [key] = keysOf('TRUE', '_key', 'news');
  const forms = [{}, { accept: 'text/csv' }, exact, { 'accept-encoding': 'gzip' }];
  const askAll = async (further = {}) => {
    const all: Got[] = [];
    for (const form of forms) all.push(await get(`/mirror/v1/news/${key}`, { ...form, ...further }));
    return all;
  };
  const [first, ...others] = await askAll();
  expect([first?.status, first?.json, first?.headers['content-range']]).toEqual([
    200,
    rowsIn(await get(`/mirror/v1/news?_key=eq.${key}`))[0],
    '0-0/*',
  ]);
  expect(others[1]?.headers['content-range']).toBe('0-0/1');
  const etags = [first, ...others].map((got) => String(got?.headers['etag']));
  expect([etags[3], new Set(etags).size]).toEqual([etags[0], 3]);
  const known = await askAll({ 'if-none-match': etags[0] });
  expect(known.map(({ status }) => status)).toEqual([304, 200, 200, 304]);
  serve.bench.tamper(`UPDATE _news_rows SET _body = '{"headline":"another"}' WHERE _key = '${key}'`);
  const [json, csv] = await askAll();
  expect(json?.json).toMatchObject({ _key: key, headline: 'another' });
  expect(String(csv?.bytes)).toContain('another');
});

test('an answer that a client has is sent anew once a value has moved that makes no change', async () => {
  const age = (headers = {}) => ask('select=quality_age_seconds&order=_key&limit=1', headers);
  const known = await age();
  const again = () => age({ 'if-none-match': String(known.headers['etag']) });
  expect((await again()).status).toBe(304);
  serve.bench.model.faults = [when({}, faults.ageing())];
  serve.bench.clock.advance(60_000);
  await serve.bench.mirror('ai-signals');
  const moved = await again();
  expect(moved).toMatchObject({ status: 200, headers: { 'x-mirror-seq': known.headers['x-mirror-seq'] } });
  expect(moved.json).not.toEqual(known.json);
});

test('without the setting there is nothing', async () => {
  const without = await setupServe({ rows: 5, walked: ['news'] });
  const answer = await getter(without.url, without.issue().key)('/mirror/v1/news');
  expect([answer.status, answer.json]).toMatchObject([404, { error: 'not_found' }]);
});
