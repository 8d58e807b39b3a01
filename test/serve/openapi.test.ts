/** The description of the service, held to what the service answers. */

import { spawnSync } from 'node:child_process';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { openSchemas } from '../../src/serve/service/openapi.ts';
import examples from '../../src/serve/service/openapi-examples.json' with { type: 'json' };
import { listNames, openServeBench, type ServeBench, setupServe } from '../helpers/serve-bench.ts';
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
  content: Record<string, { schema: Json; example?: unknown }>;
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
const bodies: Json = {};
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
  for (const path of [...listNames.map((name) => `${name}?limit=1`), 'usage'].map(
    (name) => `/api/v1/${name}`,
  ))
    bodies[path.replace(/\?.*/, '')] = (await withKey(path)).body;
  const news = '/mirror/v1/news';
  const [{ _key }] = (await withKey(`${news}?select=_key&limit=1`)).body as [{ _key: string }];
  const reader = serve.issue({ name: 'reader', scopes: ['news:read'] }).key;
  for (const [path, asked] of [
    [
      '/mirror/v1/ai_signals',
      '?select=asset,grade:quality_grade,confidence&quality_grade=in.(A,B)&order=confidence.desc',
    ],
    [`${news}/{key}`, `/${_key}?select=id,headline,category`],
    [`${news}/{key}/history`, `/${_key}/history?select=headline,_valid_from,_valid_to`],
    ['/mirror/v1/changes', '?limit=1'],
    ['/mirror/v1/datasets', ''],
  ] as const)
    bodies[path] = (
      await withKey(path.replace(/\/\{key\}.*/, '') + asked, path.includes('ai_') ? key : reader)
    ).body;
  // The epoch in it is another for each mirror.
  Object.assign(bodies['/mirror/v1/changes'] as Json, { next: 'WyI4ZjE1…' });
  for (const path of ['/healthz', '/readyz']) bodies[path] = (await get(path)).body;
  errors = await everyError();
});
afterAll(() => serve.close());

it('is OpenAPI 3.1', async () => {
  expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true });
  const broken = { ...structuredClone(document), paths: { '/x': { get: { responses: { 200: {} } } } } };
  expect(await new Validator().validate(broken)).toMatchObject({ valid: false });
});

it('shows answers of the service itself as examples', async () => {
  const byCode = Object.fromEntries(errors.map(({ body }) => [(body as { error: string }).error, body]));
  await expect(written(bodies, byCode)).toMatchFileSnapshot('../../src/serve/service/openapi-examples.json');
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

/** The file as the formatter leaves it. */
function written(bodies: Json, errors: Json): string {
  const formatted = spawnSync('npx', ['biome', 'format', '--stdin-file-path=examples.json'], {
    input: JSON.stringify({ bodies, errors }),
    encoding: 'utf8',
  });
  if (formatted.status !== 0) throw new Error(formatted.stderr);
  return formatted.stdout;
}

describe('every example', () => {
  it.each(Object.entries(examples.bodies))('of %s fits its schema', (path, example) => {
    const answer = document.paths[path]?.get.responses['200'] ?? expect.fail('not described');
    const { schema, example: shown } = answer.content['application/json'] ?? expect.fail('no JSON');
    expect(shown).toEqual(example);
    typeOf(schema).parse(example);
  });

  it.each(Object.entries(examples.errors))('of the error %s fits its schema', (code, example) => {
    const responses = Object.values(document.components.responses) as unknown as {
      content?: { 'application/json': { schema: Json; examples?: Record<string, { value: unknown }> } };
    }[];
    const shown = responses.flatMap(({ content }) => content?.['application/json'].examples?.[code] ?? []);
    expect(shown).toEqual([{ value: example }]);
    typeOf({ $ref: '#/components/schemas/Error' }).parse(example);
  });
});

it('has schemas that tell what does not fit', () => {
  const page = examples.bodies['/api/v1/ai-signals'];
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
    const { status, headers, body } = await withKey(`/api/v1/${name}?limit=2`);
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

  it.each(['/mirror/v1/changes', '/mirror/v1/datasets'])('%s holds', (path) => expectDescribed(path, path));

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
  it('names the address by which it was asked', async () => {
    expect(document.servers).toEqual([{ url: serve.url }]);
    const { port } = new URL(serve.url);
    const other = (await get('/openapi.json', { host: `localhost:${port}` })).body as Document;
    expect(other.servers).toEqual([{ url: `http://localhost:${port}` }]);
  });

  it('is made once, by however many names it is asked for in turn', async () => {
    const { port } = new URL(serve.url);
    const hosts = ['localhost', '127.0.0.1', '[::1]'].map((name) => `${name}:${port}`);
    // The first answer may be of any of them.
    for (const host of hosts) await get('/openapi.json', { host });
    const made = vi.spyOn(JSON, 'stringify');
    onTestFinished(() => void made.mockRestore());
    const tags = new Map<string, Set<string>>(hosts.map((host) => [host, new Set()]));
    for (let turn = 0; turn < 12; turn += 1)
      for (const host of hosts) {
        const { headers, body } = await get('/openapi.json', { host });
        tags.get(host)?.add(String(headers['etag']));
        expect((body as Document).servers).toEqual([{ url: `http://${host}` }]);
      }
    const sizes = made.mock.results.map(({ value }) => String(value).length);
    expect(Math.max(0, ...sizes)).toBeLessThan(1_000);
    const each = [...tags.values()].map((set) => [...set]);
    expect([each.map((set) => set.length), new Set(each.flat()).size]).toEqual([[1, 1, 1], 3]);
  });

  it('believes no proxy that is not trusted', async () => {
    const told = (
      await get('/openapi.json', { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.1' })
    ).body;
    expect((told as Document).servers).toEqual([{ url: serve.url }]);
  });

  it('names the address of a trusted proxy that was asked over TLS', async () => {
    const settings = { trusted: ['127.0.0.1'], hosts: ['mirror.example'] };
    const { url } = await setupServe({ rows: 1, walked: [], settings });
    const proxied = { host: 'mirror.example', 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' };
    const { body } = await request(`${url}/openapi.json`, { headers: proxied });
    expect(((await body.json()) as Document).servers).toEqual([{ url: 'https://mirror.example' }]);
  });

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
