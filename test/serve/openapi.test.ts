/** The description of the service, held to what the service answers. */

import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
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

/** What checks by a schema of the document. */
function typeOf(schema: Json): z.ZodType {
  const whole = JSON.stringify({ ...schema, $defs: document.components.schemas });
  return z.fromJSONSchema(JSON.parse(whole.replaceAll('#/components/schemas/', '#/$defs/')));
}

describe('what it says of', () => {
  it.each([...listNames, 'usage'])('%s holds', (name) =>
    expectDescribed(`/api/v1/${name}`, `/api/v1/${name}${name === 'usage' ? '' : '?limit=2'}`),
  );

  it('rows, a row and its versions of /mirror/v1 holds, in each form, counted or not', async () => {
    const [{ _key }] = (await withKey('/mirror/v1/news?limit=1')).body as [{ _key: string }];
    const object = 'application/vnd.pgrst.object+json';
    for (const [rest, query, ...accepted] of [
      ['', '?limit=2&select=id', '*/*', 'text/csv', 'application/x-ndjson'],
      ['', '?limit=1&select=id', object],
      ['/{key}', '?select=id', '*/*', object],
      ['/{key}/history', '?limit=1', '*/*', object],
    ] as const)
      for (const accept of accepted)
        for (const more of [{}, { prefer: 'count=exact' }]) {
          const path = `/mirror/v1/news${rest}`;
          await expectDescribed(path, `${path.replace('{key}', _key)}${query}`, { accept, ...more });
        }
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
    for (const name of ['changes', 'datasets', 'freshness'])
      await expectDescribed(`/mirror/v1/${name}`, `/mirror/v1/${name}`);
  });

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
    const { $ref, headers: ofKnown } = responses['304'] ?? {};
    const named = document.components.responses[$ref?.split('/').at(-1) ?? ''] as unknown as Described;
    if (again) expectHeaders(again.headers, (named ?? { headers: ofKnown }).headers ?? {});
  }

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

  it('“all fields are required”, and no others are present', () => {
    const { schemas } = document.components;
    for (const name of ['AiSignalPage', 'AiSignal', 'SignalValidator', 'SignalQuality', 'Error']) {
      const { properties, required, additionalProperties } = schemas[name] as Record<string, object>;
      expect([name, required, additionalProperties]).toEqual([name, Object.keys(properties ?? {}), false]);
    }
  });
});
