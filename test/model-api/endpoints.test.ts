import { describe, expect, it } from 'vitest';
import { endpoints } from '../../model-api/index.ts';
import { get, idsIn, openModel } from './support.ts';

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('AI signals', () => {
  it('answers a page with exactly the specified members', async () => {
    const model = await openModel();
    const { status, headers, body } = await get(model, '/api/v1/ai-signals');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json');
    expect(body).toEqual({
      generatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      source: 'published-signal-snapshot',
      mode: 'read-only',
      rows: expect.any(Array),
      pagination: { offset: 0, limit: 50, total: 120, returned: 50, hasMore: true },
    });
  });

  it('sends every row in the specified shape, and every null that it allows', async () => {
    const model = await openModel();
    const { rows } = (await get(model, '/api/v1/ai-signals?limit=100')).body;
    const orNull = (value: unknown) =>
      expect.toSatisfy((sent) => sent === null || expect.any(value).asymmetricMatch(sent));
    for (const row of rows)
      expect(row).toEqual({
        id: expect.any(String),
        timestamp: expect.stringMatching(/Z$/),
        asset: expect.any(String),
        action: expect.any(String),
        confidence: expect.any(Number),
        riskReward: orNull(Number),
        entryPrice: expect.any(Number),
        tpPrice: orNull(Number),
        slPrice: orNull(Number),
        rationale: expect.any(String),
        status: expect.any(String),
        validator: {
          allowed: orNull(Boolean),
          score: orNull(Number),
          reasonCodes: expect.any(Array),
          finalAction: orNull(String),
        },
        quality: {
          publishable: expect.any(Boolean),
          grade: expect.stringMatching(/^(A|B|C|REJECT)$/),
          ageSeconds: expect.any(Number),
          freshness: expect.stringMatching(/^(live|delayed|stale)$/),
          checks: expect.any(Array),
        },
        assetClass: expect.stringMatching(/^(crypto|stock|commodity|index|fx|other)$/),
        screenerScore: orNull(Number),
        regime: orNull(String),
        dualAi: orNull(Object),
      });
    const seen = JSON.stringify(rows.slice(0, 24));
    for (const name of [
      'riskReward',
      'tpPrice',
      'slPrice',
      'allowed',
      'score',
      'finalAction',
      'screenerScore',
      'regime',
    ])
      expect(seen).toContain(`"${name}":null`);
    for (const summary of ['"dualAi":null', '"dualAi":{}', '"verdict":']) expect(seen).toContain(summary);
  });

  it('reports the quota on its successes, and on those alone', async () => {
    const model = await openModel({ quota: { limit: 3, periodMs: 60_000 } });
    const limits = async (path: string) => {
      const { headers } = await get(model, path);
      return [headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')];
    };
    expect(await limits('/api/v1/ai-signals')).toEqual(['3', '2']);
    expect(await limits('/api/v1/news')).toEqual([null, null]);
    expect(await limits('/api/v1/ai-signals')).toEqual(['3', '0']);
    expect(await limits('/api/v1/ai-signals')).toEqual([null, null]);
  });
});

describe('the other lists', () => {
  it('keep their ids under names of their own', async () => {
    const model = await openModel({ newsWithoutIds: true });
    const first = async (path: string) => (await get(model, path)).body.rows[0] ?? {};
    expect(await first('/api/v1/news')).not.toHaveProperty('id');
    expect(await first('/api/v1/news')).toHaveProperty('url');
    expect(await first('/api/v1/smart-wallets')).toHaveProperty('address');
    expect(await first('/api/v1/meme-signals')).toHaveProperty('alertId');
  });

  it('promise of meme signals no more than hasMore and returned', async () => {
    const { body } = await get(await openModel(), '/api/v1/meme-signals?offset=100');
    expect(body.pagination).toEqual({ returned: 20, hasMore: false });
  });

  it('filter smart wallets by lane, and news by word and by field', async () => {
    const model = await openModel();
    const { body: whales } = await get(model, '/api/v1/smart-wallets?lane=whale&limit=100');
    expect(new Set(whales.rows.map((row) => row['lane']))).toEqual(new Set(['whale']));
    expect((await get(model, '/api/v1/smart-wallets?lane=all')).body.pagination.total).toBe(120);
    const { body: gold } = await get(model, '/api/v1/news?q=gold&market=commodity');
    expect(gold.rows.length).toBeGreaterThan(0);
    for (const row of gold.rows) expect(JSON.stringify(row)).toMatch(/gold.*commodity/i);
  });
});

describe('usage', () => {
  it('counts the calls of the account', async () => {
    const model = await openModel({ quota: { limit: 10, periodMs: 60_000 } });
    await get(model, '/api/v1/news');
    await get(model, '/api/v1/news', 'Bearer wrong');
    const { body } = await get<Record<string, unknown>>(model, '/api/v1/usage');
    expect(body).toMatchObject({
      quota: { limit: 10, used: 2, remaining: 8 },
      requests: { total: 3, byEndpoint: { news: 2 }, byStatus: { 200: 1, 401: 1 } },
    });
  });
});

describe('every answer', () => {
  it('carries a request id of its own, which the record knows', async () => {
    const model = await openModel();
    const replies = await Promise.all(
      ['/api/v1/news', '/api/v1/nowhere', '/api/v1/usage'].map((path) => get(model, path)),
    );
    const ids = replies.map(({ headers }) => headers.get('x-request-id') ?? '');
    for (const id of ids) expect(id).toMatch(uuidForm);
    expect(new Set(ids)).toEqual(new Set(model.calls.map((call) => call.requestId)));
    expect(new Set(ids).size).toBe(3);
  });

  it('is an Error body for unknown paths, and for methods other than GET', async () => {
    const model = await openModel();
    for (const path of ['/', '/api/v1', '/api/v1/news/', '/api/v2/news', '//']) {
      const { status, body } = await get<object>(model, path);
      expect([path, status]).toEqual([path, 404]);
      expect(body).toEqual({ error: expect.any(String), message: expect.any(String) });
    }
    for (const { path } of endpoints) {
      const response = await fetch(model.url + path, { method: 'POST', body: '{}' });
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toBe('GET');
      expect(await response.json()).toEqual({ error: expect.any(String), message: expect.any(String) });
    }
  });

  it('stands under the base path, where there is one', async () => {
    const model = await openModel({ basePath: '/market' });
    expect((await get(model, '/api/v1/usage')).status).toBe(200);
    expect(model.callsTo('/api/v1/usage')).toHaveLength(1);
    expect((await get({ url: model.url.replace('/market', '') }, '/api/v1/usage')).status).toBe(404);
  });
});

describe('paging', () => {
  it.each([
    ['', { offset: 0, limit: 50 }],
    ['?offset=-5&limit=0', { offset: 0, limit: 1 }],
    ['?offset=7&limit=-3', { offset: 7, limit: 1 }],
    ['?limit=101', { offset: 0, limit: 100 }],
    ['?limit=999999999999999999999', { offset: 0, limit: 100 }],
    ['?offset=abc&limit=abc', { offset: 0, limit: 50 }],
    ['?offset=&limit=', { offset: 0, limit: 50 }],
    ['?offset=2.9&limit=3.9', { offset: 2, limit: 3 }],
  ])('takes the window %j for the nearest that may be asked for', async (query, expected) => {
    const { body } = await get(await openModel(), `/api/v1/news${query}`);
    expect(body.pagination).toMatchObject(expected);
    expect(body.rows.length).toBe(expected.limit);
  });

  it('ends with hasMore false, and is empty beyond the end', async () => {
    const model = await openModel();
    expect((await get(model, '/api/v1/news?offset=100&limit=20')).body.pagination.hasMore).toBe(false);
    expect((await get(model, '/api/v1/news?offset=99&limit=20')).body.pagination.hasMore).toBe(true);
    const { body } = await get(model, '/api/v1/news?offset=500');
    expect(body).toMatchObject({
      rows: [],
      pagination: { offset: 500, returned: 0, total: 120, hasMore: false },
    });
  });

  it('brings every row once when the data stands still', async () => {
    const model = await openModel({ rows: { aiSignals: 1_234 } });
    const ids: unknown[] = [];
    for (let more = true; more; ) {
      const { body } = await get(model, `/api/v1/ai-signals?limit=100&offset=${ids.length}`);
      ids.push(...idsIn(body));
      more = body.pagination.hasMore;
    }
    expect(new Set(ids).size).toBe(1_234);
    expect(model.calls.flatMap((call) => call.rowIds)).toEqual(ids);
  });
});
