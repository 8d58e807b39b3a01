/** The description of the service, held to what the service answers. */

import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { openSchemas } from '../../src/serve/answers/openapi.ts';
import { listNames, openServeBench, type ServeBench } from '../helpers/serve-bench.ts';
import { limitsOf } from './support.ts';

type Json = Record<string, unknown>;
type Operation = {
  operationId: string;
  security: { apiKey: string[] }[];
  parameters?: Json[];
  responses: Record<string, { $ref: string } & Described>;
};
type Described = {
  headers: Record<string, Json>;
  content: Record<string, { schema: Json }>;
};
type Document = {
  servers: { url: string }[];
  paths: Record<string, { get: Operation }>;
  components: Record<'schemas' | 'parameters' | 'headers' | 'responses', Record<string, Json>>;
};
type Answer = { status: number; headers: Record<string, unknown>; body: unknown };

let serve: ServeBench;
let key: string;
let document: Document;
/** One of each kind. */
let errors: Answer[];

const get = async (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> => {
  const answer = await request(`${serve.url}${path}`, { method: method as 'GET', headers });
  const text = await answer.body.text();
  const isJson = text !== '' && answer.headers['content-type'] === 'application/json';
  return { status: answer.statusCode, headers: answer.headers, body: isJson ? JSON.parse(text) : null };
};
const withKey = (path: string, ofKey = key) => get(path, { authorization: `Bearer ${ofKey}` });

beforeAll(async () => {
  serve = await openServeBench({
    rows: 3,
    walked: [...listNames, 'usage'],
    settings: { query: true },
  });
  key = serve.issue({}, limitsOf('1000/1h')).key;
  document = (await get('/openapi.json')).body as Document;
  errors = await everyError();
});
afterAll(() => serve.close());

it('is OpenAPI 3.1', async () => {
  expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true });
  const broken = { ...structuredClone(document), paths: { '/x': { get: { responses: { 200: {} } } } } };
  expect(await new Validator().validate(broken)).toMatchObject({ valid: false });
});

async function everyError(): Promise<Answer[]> {
  const poor = serve.issue({ name: 'poor', scopes: ['news:read'] }, limitsOf('1/1h')).key;
  await withKey('/api/v1/news', poor);
  return [
    await get('/api/v1/news'),
    await withKey('/api/v1/meme-signals', poor),
    await withKey('/api/v1/news', poor),
    await withKey('/api/v1/news?seq=yesterday'),
    await withKey('/api/v1/news?seq=0'),
    await withKey('/api/v1/news?unknown=1'),
    await get('/api/v1/news', {}, 'DELETE'),
    await whileGone(() => withKey('/api/v1/news')),
  ];
}

async function whileGone(ask: () => Promise<Answer>): Promise<Answer> {
  const { bench } = serve;
  const [there, away] = ['mirror.db', 'mirror.moved'].map((name) => join(bench.dir, name)) as [
    string,
    string,
  ];
  renameSync(there, away);
  bench.clock.advance(1_000);
  const answer = await ask();
  renameSync(away, there);
  bench.clock.advance(1_000);
  return answer;
}

it('has schemas that tell what does not fit', async () => {
  const page = (await withKey('/api/v1/ai-signals?limit=1')).body as { rows: object[] };
  const type = typeOf({ $ref: '#/components/schemas/AiSignalPage' });
  expect(type.safeParse(page).success).toBe(true);
  expect(type.safeParse({ ...page, more: 1 }).success).toBe(false);
  expect(type.safeParse({ ...page, generatedAt: 'yesterday' }).success).toBe(false);
  const [signal] = page.rows;
  expect(type.safeParse({ ...page, rows: [{ ...signal, quality: { grade: 'A' } }] }).success).toBe(false);
});

/** What checks by a schema of the document. */
function typeOf(schema: Json): z.ZodType {
  const whole = JSON.stringify({ ...schema, $defs: document.components.schemas });
  return z.fromJSONSchema(JSON.parse(whole.replaceAll('#/components/schemas/', '#/$defs/')));
}

describe('what it says of', () => {
  it.each([...listNames, 'usage'])('%s holds', async (name) => {
    const { responses } = document.paths[`/api/v1/${name}`]?.get ?? expect.fail('not described');
    const { status, headers, body } = await withKey(`/api/v1/${name}${name === 'usage' ? '' : '?limit=2'}`);
    const { content, headers: described } = responses[String(status)] ?? expect.fail('status');
    typeOf(content['application/json']?.schema ?? expect.fail('no JSON')).parse(body);
    expectHeaders(headers, described);
  });

  it.each([
    ['', '?limit=2&select=id', '*/*'],
    ['', '?limit=2&select=id', 'text/csv'],
    ['', '?limit=2&select=id', 'application/x-ndjson'],
    ['', '?limit=1&select=id', 'application/vnd.pgrst.object+json'],
    ['/{key}', '?select=id', '*/*'],
    ['/{key}', '?select=id', 'application/vnd.pgrst.object+json'],
    ['/{key}/history', '', '*/*'],
    ['/{key}/history', '?limit=1', 'application/vnd.pgrst.object+json'],
  ])('/mirror/v1/news%s%s as %s holds', async (rest, query, accept) => {
    const [{ _key }] = (await withKey('/mirror/v1/news?limit=1')).body as [{ _key: string }];
    const path = `/mirror/v1/news${rest}`;
    await expectDescribed(path, `${path.replace('{key}', _key)}${query}`, { accept });
    await expectDescribed(path, `${path.replace('{key}', _key)}${query}`, { accept, prefer: 'count=exact' });
  });

  it('each route of /mirror/v1 but its index, for datasets and the views over them', async () => {
    const known = Object.keys(document.paths).filter((path) => path.startsWith('/mirror/v1/'));
    const forms = new Set(
      known.map((path) => path.replace(/news|ai_signals|smart_wallets|meme_signals/, '{dataset}')),
    );
    expect([...forms].sort()).toEqual(
      [
        'changes',
        'datasets',
        'freshness',
        '{dataset}',
        '{dataset}/{key}',
        '{dataset}/{key}/history',
        '{view}',
      ].map((rest) => `/mirror/v1/${rest}`),
    );
    for (const view of ['news_current', 'news_changes', 'news_symbols'])
      await expectDescribed('/mirror/v1/{view}', `/mirror/v1/${view}?limit=2`);
  });

  it.each(['/mirror/v1/changes', '/mirror/v1/datasets', '/mirror/v1/freshness'])('%s holds', (path) =>
    expectDescribed(path, path),
  );

  async function expectDescribed(path: string, target: string, asked: Record<string, string> = {}) {
    const { responses } = document.paths[path]?.get ?? expect.fail('not described');
    const authorization = `Bearer ${serve.issue({ name: 'client' }).key}`;
    const { status, headers, body } = await get(target, { authorization, ...asked });
    const { content, headers: described } = responses[String(status)] ?? expect.fail(`${status}`);
    const { schema } = content[String(headers['content-type']).split(';')[0] ?? ''] ?? expect.fail('type');
    if (headers['content-type'] === 'application/json') typeOf(schema).parse(body);
    expectHeaders(headers, described);
    const known = { authorization, ...asked, 'if-none-match': String(headers['etag']) };
    const again = headers['etag'] === undefined ? undefined : await get(target, known);
    expect(Object.keys(responses).includes('304')).toBe(again?.status === 304);
    if (again) expectHeaders(again.headers, responses['304']?.headers ?? {});
  }

  it('a page that is known holds', async () => {
    const { headers } = await withKey('/api/v1/news');
    const known = await get('/api/v1/news', {
      authorization: `Bearer ${key}`,
      'if-none-match': String(headers['etag']),
    });
    const { headers: described } = document.components.responses['NotModified'] as unknown as Described;
    expect(known.status).toBe(304);
    expectHeaders(known.headers, described);
  });

  it('errors holds', async () => {
    for (const { status, headers } of errors) {
      const { $ref } = document.paths['/api/v1/news']?.get.responses[status] ?? expect.fail(`${status}`);
      const described = document.components.responses[$ref.split('/').at(-1) ?? ''] as unknown as Described;
      expectHeaders(headers, described.headers);
    }
  });

  /** Those of the mirror, of the specification, and of caching; what goes with every answer of any server is not described. */
  function expectHeaders(headers: Answer['headers'], described: Json): void {
    const ours =
      /^(x-(?!content)|content-range$|etag$|age$|cache-control$|retry-after$|allow$|www-authenticate$)/;
    const names = Object.keys(described).map((name) => name.toLowerCase());
    expect(names.sort()).toEqual(
      Object.keys(headers)
        .filter((name) => ours.test(name))
        .sort(),
    );
  }
});

describe('the specification', () => {
  it('has its names and scopes', () => {
    const told = Object.entries(document.paths).map(([path, { get }]) => [path, get.security]);
    expect(Object.fromEntries(told)).toMatchObject({
      '/api/v1/ai-signals': [{ apiKey: ['ai-signals:read'] }],
      '/api/v1/news': [{ apiKey: ['news:read'] }],
      '/api/v1/smart-wallets': [{ apiKey: ['smart-wallets:read'] }],
      '/api/v1/meme-signals': [{ apiKey: ['meme:read'] }],
      '/api/v1/usage': [{ apiKey: [] }],
      '/openapi.json': [],
    });
    expect(document.paths['/api/v1/ai-signals']?.get.operationId).toBe('listPublishedAiSignals');
    const names = ['AiSignal', 'AiSignalPage', 'DualAiSummary', 'Error', 'SignalQuality', 'SignalValidator'];
    expect(Object.keys(document.components.schemas)).toEqual(
      expect.arrayContaining([...names, 'StandardPagination']),
    );
  });

  it.each(['AiSignalPage', 'AiSignal', 'SignalValidator', 'SignalQuality', 'StandardPagination', 'Error'])(
    '%s: “all fields are required”, and no others are present',
    (name) => {
      const { properties, required, additionalProperties } = document.components.schemas[name] as {
        properties: Json;
        required: string[];
        additionalProperties: boolean;
      };
      expect(required).toEqual(Object.keys(properties));
      expect(additionalProperties).toBe(false);
    },
  );
});

describe('/openapi.json', () => {
  it('is not sent again to those who have it', async () => {
    const { headers } = await get('/openapi.json');
    const etag = String(headers['etag']);
    expect(await get('/openapi.json', { 'if-none-match': etag })).toMatchObject({ status: 304, body: null });
    expect(await get('/openapi.json', { 'if-none-match': '"other"' })).toMatchObject({ status: 200 });
  });
});

test('two objects that differ cannot have one name', () => {
  const schemas = openSchemas();
  const jobOf = (type: 'string' | 'number') => {
    const row = { title: 'Row', type: 'object', properties: { id: { type } }, required: ['id'] };
    return {
      name: 'one',
      about: '',
      path: '/one',
      filters: {},
      schemas: { page: { type: 'object', properties: {}, required: [] }, row },
    } as never;
  };
  schemas.pageOf(jobOf('string'));
  expect(() => schemas.pageOf(jobOf('number'))).toThrow('two objects that differ are named Row');
});
