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

describe('filters leave the rows that the same condition in SQL leaves', () => {
  // The others are those of the client and of questions at random.
  test.each([
    ['confidence=not.lte.5e-1', 'NOT confidence <= 0.5'],
    ['asset=in.()', 'false'],
    ['asset=in.(%20BTCUSDT,"SOLUSDT")%20', "asset IN ('BTCUSDT', 'SOLUSDT')"],
    ['asset=like.btc*', 'false'],
    ['asset=ilike.b_c%25', "asset LIKE 'b_c%'"],
    ['validator_allowed=eq.false', 'validator_allowed = 0'],
    ['not.or=(quality_grade.eq.A,quality_grade.eq.B)', "quality_grade NOT IN ('A', 'B')"],
    ['or=(asset.eq.BTCUSDT)&or=(quality_grade.eq.A)', "asset = 'BTCUSDT' AND quality_grade = 'A'"],
    ['dual_ai->>confidence=gt.0.5', "dual_ai ->> 'confidence' > 0.5"],
  ])('%s', async (query, where) => {
    const got = await ask(`${query}&select=_key`);
    expect(got.status).toBe(200);
    expect(keysIn(got)).toEqual(keysOf(where));
  });

  test('of a discovered column, by a value with commas and quotes', async () => {
    const [first] = sql(`SELECT _key, headline FROM news WHERE headline IS NOT NULL ORDER BY _key LIMIT 1`);
    const quoted = encodeURIComponent(JSON.stringify(first?.['headline']));
    const found = sql('SELECT _key FROM news WHERE headline = ? ORDER BY _key', String(first?.['headline']));
    expect(keysIn(await get(`/mirror/v1/news?select=_key&and=(headline.eq.${quoted})`))).toEqual(
      found.map(({ _key }) => _key),
    );
  });
});

describe('a list holds all of the values', () => {
  const newsWith = (where: string) => keysOf(where, '_key', 'news');
  const holds = (symbol: string) =>
    `EXISTS (SELECT 1 FROM json_each(news.symbols) WHERE json_each.value = '${symbol}')`;

  test.each([
    ['symbols=cs.{BTCUSDT}', holds('BTCUSDT')],
    ['symbols=cs.{"BTCUSDT","ETHUSDT"}', `${holds('BTCUSDT')} AND ${holds('ETHUSDT')}`],
    ['symbols=not.cs.{BTCUSDT}', `NOT ${holds('BTCUSDT')}`],
    [
      'or=(symbols.cs.{BTCUSDT,ETHUSDT},kind.eq.price)',
      `${holds('BTCUSDT')} AND ${holds('ETHUSDT')} OR kind = 'price'`,
    ],
    ['_body->symbols=cs.{BTCUSDT}', holds('BTCUSDT')],
    ['symbols=cs.{}', 'symbols IS NOT NULL'],
  ])('%s', async (query, where) => {
    const got = await get(`/mirror/v1/news?${query}&select=_key`);
    expect([got.status, keysIn(got)]).toEqual([200, newsWith(where)]);
  });

  test('in the views over a dataset, whose columns hold what theirs do, and whose values what they are', async () => {
    const wanted = newsWith(holds('BTCUSDT'));
    const current = await get('/mirror/v1/news_current?symbols=cs.{BTCUSDT}&select=_key');
    expect(keysIn(current)).toEqual(wanted);
    const first = await get('/mirror/v1/news_changes?kind=eq.first&symbols=cs.{BTCUSDT}');
    expect(first).toMatchObject({
      status: 400,
      json: { code: '42703', hint: 'There are seq, at, kind, _key, column, old, new, walk_id.' },
    });
    expect(rowsIn(await get('/mirror/v1/news_changes?new=cs.{BTCUSDT}'))).toEqual([]);
  });

  test('where the column can hold one', async () => {
    for (const path of ['ai_signals?asset=cs.{BTCUSDT}', 'ai_signals_current?asset=cs.{BTCUSDT}'])
      expect(await get(`/mirror/v1/${path}`)).toMatchObject({
        status: 400,
        json: { code: '42883', message: 'column asset holds no lists' },
      });
    expect(await get('/mirror/v1/freshness?job=cs.{news}')).toMatchObject({
      status: 400,
      json: { code: '42883', message: 'column job holds no lists' },
    });
    expect(await get('/mirror/v1/freshness?dataset=eq.news')).toMatchObject({
      status: 400,
      json: { code: '42703', hint: expect.stringMatching(/^There are job, rows, .*complete_as_of/) },
    });
  });
});

test('freshness is that of the datasets that the key may read, of now', async () => {
  const news = getter(serve.url, serve.issue({ name: 'fresh', scopes: ['news:read'] }).key);
  const [row] = sql("SELECT * FROM freshness WHERE job = 'news'");
  const got = await news('/mirror/v1/freshness?select=job,rows,verdict&rows=gt.1');
  expect([got.status, got.json]).toEqual([
    200,
    [{ job: 'news', rows: row?.['rows'], verdict: row?.['verdict'] }],
  ]);
  expect(rowsIn(await get('/mirror/v1/freshness?order=job')).map(({ job }) => job)).toEqual([
    ...['ai-signals', 'meme-signals', 'news', 'smart-wallets'],
  ]);
  expect(await news('/mirror/v1/freshness?as_of=1h')).toMatchObject({ status: 400 });
});

test('who finds it is told what there is, and where it is described', async () => {
  for (const path of ['/mirror/v1', '/mirror/v1/']) {
    const found = await getter(serve.url)(path);
    expect(found).toMatchObject({
      status: 200,
      json: { paths: { '/mirror/v1/datasets': expect.any(String) } },
    });
  }
  for (const path of ['/mirror/v1/nothing', '/api/v1/news', '/api/v1/nothing', '/mirror/v1/news?limit=1'])
    expect((await get(path)).headers['link']).toBe('</openapi.json>; rel="service-desc"');
});

describe('rows are shown', () => {
  test('typed as their columns are', async () => {
    const [row] = rowsIn(await ask('limit=1'));
    const [stored = {}] = sql('SELECT * FROM ai_signals ORDER BY _key LIMIT 1');
    expect(Object.keys(row ?? {})).toEqual(Object.keys(stored));
    expect(row).toMatchObject({
      confidence: stored['confidence'],
      validator_allowed: stored['validator_allowed'] === 1,
      validator_reason_codes: JSON.parse(String(stored['validator_reason_codes'])),
      _held_since: null,
    });
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
    ['order=regime', 'regime NULLS LAST'],
    ['order=regime.nullsfirst,asset.desc.nullslast', 'regime NULLS FIRST, asset DESC NULLS LAST'],
    ['order=dual_ai->>confidence.desc', "dual_ai ->> 'confidence' DESC NULLS FIRST"],
    ['', '_key'],
  ])('in the order %s', async (query, order) => {
    const got = await ask(`select=_key&${query}&limit=40&offset=7`);
    expect(keysIn(got)).toEqual(keysOf('true', order).slice(7, 47));
  });

  test('by the views over a dataset, as they stand now', async () => {
    const current = await get('/mirror/v1/news_current?select=_key');
    expect(keysIn(current)).toEqual(keysOf('_held_since IS NULL', '_key', 'news'));
    const lists = await get('/mirror/v1/ai_signals_quality_checks?limit=3');
    expect(rowsIn(lists)).toEqual(
      sql('SELECT * FROM ai_signals_quality_checks ORDER BY _key, position LIMIT 3'),
    );
    const changes = await get('/mirror/v1/news_changes?kind=eq.first&limit=2&select=kind,_key,column,old');
    expect(rowsIn(changes).map(({ kind, column }) => [kind, column])).toEqual([
      ['first', null],
      ['first', null],
    ]);
    expect(rowsIn(await get('/mirror/v1/ai_signal_checks?check_name=not.is.null&limit=1'))).toHaveLength(1);
    expect((await get('/mirror/v1/news_current?as_of=2030-01-01')).status).toBe(400);
    expect((await get('/mirror/v1/news_nothing')).status).toBe(404);
    const [described] = rowsIn(await get('/mirror/v1/datasets'));
    expect(described?.['views']).toContain('ai_signals_current');
  });

  test('by job as by table; what is no list, or no dataset, is not found', async () => {
    expect((await get('/mirror/v1/ai-signals?limit=1')).json).toEqual((await ask('limit=1')).json);
    for (const path of ['usage', 'sqlite_master', 'walks'])
      expect(await get(`/mirror/v1/${path}`)).toMatchObject({ status: 404, json: { code: 'PGRST205' } });
  });
});

describe('an answer says which of how many rows it has', () => {
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
  ])('%s %o', async (query, headers, status, range) => {
    const got = await ask(query, headers);
    expect([got.status, got.headers['content-range']]).toEqual([status, range]);
    if ('prefer' in headers) expect(got.headers['preference-applied']).toBe(headers.prefer);
  });

  test('one row of one, where that is asked for', async () => {
    const [row] = rowsIn(await ask('limit=1'));
    const got = await get(`/mirror/v1/ai_signals/${row?.['_key']}`, exact);
    expect([got.status, got.headers['content-range']]).toEqual([200, '0-0/1']);
  });

  test('416 behind the last row, where that is known', async () => {
    expect(await ask('offset=131', exact)).toMatchObject({
      status: 416,
      json: { code: 'PGRST103', details: 'An offset of 131 was requested, but there are only 130 rows.' },
    });
  });

  test('HEAD has the same headers, and no body', async () => {
    const { status, bytes, headers } = await get('/mirror/v1/news?limit=3', exact, 'HEAD');
    expect([status, bytes.length, headers['content-range']]).toEqual([206, 0, '0-2/130']);
    expect(headers['vary']).toContain('Prefer');
  });
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

  test('one object a line', async () => {
    const got = await ask(query, { accept: 'application/x-ndjson' });
    const objects = got.bytes
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(objects).toEqual((await ask(query)).json);
  });

  test('one object, or 406', async () => {
    const accept = 'application/vnd.pgrst.object+json';
    const got = await ask('limit=1', { accept });
    expect([got.status, JSON.parse(got.bytes.toString())]).toEqual([200, rowsIn(await ask('limit=1'))[0]]);
    expect(await ask('limit=2', { accept })).toMatchObject({
      status: 406,
      json: {
        code: 'PGRST116',
        message: 'JSON object requested, multiple (or no) rows returned',
        details: 'Results contain 2 rows, application/vnd.pgrst.object+json requires 1 row',
        hint: null,
      },
    });
    for (const [path, type] of [
      ['ai_signals', 'image/png'],
      ['datasets', 'text/csv'],
      ['changes', 'text/csv'],
    ])
      expect(await get(`/mirror/v1/${path}`, { accept: String(type) })).toMatchObject({
        status: 406,
        json: { code: 'PGRST107' },
      });
  });
});

describe('what is refused says why', () => {
  test.each([
    ['confidense=gt.1', '42703', /confidense/, /confidence/],
    ['confidence=gt.high', '22P02', /a number/],
    ['validator_allowed=eq.yes', '22P02', /true or false/],
    ['asset=is.true', '42804', /no booleans/],
    ['confidence=like.1*', '42883', /no text/],
    ['asset->x=eq.1', '42883', /no JSON/],
    ['asset=BTC', 'PGRST100', /line 1/],
    ['asset=foo.1', 'PGRST100', /line 1/],
    ['asset=cs.{a}', '42883', /no lists/],
    ['asset=ov.{a}', 'PGRST127', /not implemented/],
    ['select=id,news(headline)', 'PGRST127', /not implemented/],
    ['select=confidence::text', 'PGRST127', /not implemented/],
    ['select=count()', 'PGRST127', /not implemented/],
    ['select=id,', 'PGRST100', /column 4/],
    ['select=a:id,a:asset', 'PGRST100', /named a/],
    ['order=asset.up', 'PGRST100', /column/],
    ['limit=-1', 'PGRST100', /whole number/],
    ['limit=1&limit=2', 'PGRST100', /more than once/],
    ['or=(asset.eq.a', 'PGRST100', /column/],
    ['or=()', 'PGRST100', /column/],
    ['and=(or(and(or(asset.eq.a))))', 'PGRST100', /depth/],
    ['asset=eq.a%00b', 'PGRST100', /NUL/],
    ['seq=x', 'PGRST100', /seq/],
    ['as_of=2999-01-01T00:00:00Z', 'PGRST100', /yet to come/],
  ])('%s', async (query, code, message, hint?: RegExp) => {
    const { status, json } = await ask(query);
    expect(status).toBe(400);
    expect(Object.keys(json as Row)).toEqual(['code', 'message', 'details', 'hint']);
    expect(json).toMatchObject({ code, message: expect.stringMatching(message) });
    if (hint) expect(json).toMatchObject({ hint: expect.stringMatching(hint) });
  });

  test('by key, scope, method and path, in the same form', async () => {
    const other = getter(serve.url, serve.issue({ name: 'other', scopes: ['news:read'] }).key);
    const answers = [
      await getter(serve.url)('/mirror/v1/news'),
      await other('/mirror/v1/ai_signals'),
      await get('/mirror/v1/news', {}, 'POST'),
      await get('/mirror/v1/news/key/nothing'),
      await get('/mirror/v1/news/key/history/more', { accept: 'text/html' }),
      await get('/mirror/v1/news', { host: 'elsewhere.example' }),
      await get('/mirror/v1/changes?limit=1&limit=2'),
    ];
    expect(answers.map(({ status, json }) => [status, (json as Row)['code']])).toEqual([
      [401, 'PGRST301'],
      [403, '42501'],
      [405, 'PGRST117'],
      [404, 'PGRST125'],
      [404, 'PGRST125'],
      [421, 'MIRROR421'],
      [400, 'PGRST100'],
    ]);
    for (const { json } of answers)
      expect(Object.keys(json as Row)).toEqual(['code', 'message', 'details', 'hint']);
  });
});

describe('calls', () => {
  test('one, and one more for each further hundred rows; a mistake and a 304 are free', async () => {
    const limits = { quota: { kind: 'fixed' as const, calls: 5, periodMs: 86_400_000 } };
    const asked = getter(serve.url, serve.issue({ name: 'counted' }, limits).key);
    const left = ({ headers }: Got) => headers['x-ratelimit-remaining'];
    const first = await asked('/mirror/v1/news?limit=100');
    expect(left(first)).toBe('4');
    expect((await asked('/mirror/v1/news?nothing=eq.1')).status).toBe(400);
    const again = await asked('/mirror/v1/news?limit=100', {
      'if-none-match': String(first.headers['etag']),
    });
    expect([again.status, left(again)]).toEqual([304, '4']);
    expect(left(await asked('/mirror/v1/news'))).toBe('2');
    expect(left(await asked('/mirror/v1/news?limit=1'))).toBe('1');
    const refused = await asked('/mirror/v1/news');
    expect(refused).toMatchObject({
      status: 429,
      headers: { 'retry-after': expect.any(String), 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '1' },
      json: { code: 'MIRROR429', message: expect.stringContaining('more calls than the quota') },
    });
    expect(left(await asked('/mirror/v1/news?limit=1'))).toBe('0');
    expect((await asked('/api/v1/news')).json).toEqual({
      error: 'too_many_requests',
      message: expect.stringContaining('quota'),
    });
  });

  test('the ETag covers form and count', async () => {
    const tags = await Promise.all(
      [{}, { accept: 'text/csv' }, { prefer: 'count=exact' }].map(
        async (headers) => (await ask('limit=1', headers)).headers['etag'],
      ),
    );
    expect(new Set(tags).size).toBe(3);
  });
});

describe('one row', () => {
  test('by its key, as an object', async () => {
    const [wanted] = rowsIn(await ask('limit=1&offset=3'));
    const got = await get(`/mirror/v1/ai_signals/${wanted?.['_key']}`);
    expect([got.status, got.json, got.headers['content-range']]).toEqual([200, wanted, '0-0/*']);
    expect(await get('/mirror/v1/ai_signals/none')).toMatchObject({
      status: 404,
      json: { code: 'PGRST116' },
    });
    expect(await get(`/mirror/v1/ai_signals/${wanted?.['_key']}?asset=eq.x`)).toMatchObject({ status: 400 });
  });

  test('asked for again, the same in each form; once somebody has committed, as it is then', async () => {
    const [key] = keysOf('TRUE', '_key', 'news');
    const forms = [{}, { accept: 'text/csv' }, { prefer: 'count=exact' }, { 'accept-encoding': 'gzip' }];
    const askAll = async (further = {}) => {
      const all: Got[] = [];
      for (const form of forms) all.push(await get(`/mirror/v1/news/${key}`, { ...form, ...further }));
      return all;
    };
    const shown = ({ status, bytes, headers }: Got) => {
      const names = ['etag', 'content-type', 'content-range', 'preference-applied', 'x-mirror-seq'];
      return [status, bytes, ...names.map((name) => headers[name])];
    };
    const first = await askAll();
    expect((await askAll()).map(shown)).toEqual(first.map(shown));
    const etags = first.map(({ headers }) => String(headers['etag']));
    expect(etags).toEqual([etags[0], etags[1], etags[2], etags[0]]);
    expect(new Set(etags).size).toBe(3);
    const known = await askAll({ 'if-none-match': etags[0] });
    expect(known.map(({ status }) => status)).toEqual([304, 200, 200, 304]);

    serve.bench.tamper(`UPDATE _news_rows SET _body = '{"headline":"another"}' WHERE _key = '${key}'`);
    const [json, csv] = await askAll();
    expect(json?.json).toMatchObject({ _key: key, headline: 'another' });
    expect(String(csv?.bytes)).toContain('another');
  });
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
