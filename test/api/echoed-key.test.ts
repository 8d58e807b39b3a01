/** An API, or a proxy before it, that quotes the request: the key must not be known from anything that we keep or show. */

import { createServer, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import type { Call } from '../../src/api/response.ts';
import { createApi } from '../../src/api.ts';
import { systemClock } from '../../src/base/clock.ts';
import { keyFromValue } from '../../src/base/key.ts';
import { listenOnLoopback } from '../helpers/loopback.ts';

const KEY = 'mk_live_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJ';
/** A key of every kind of letter that some text spells in another way. */
const SPECIAL = 'mk/live+0123456789=abc&def<ghi>jkl"mno\'pqr\\stu%vwx';

type Echo = (response: ServerResponse, before: string, key: string) => void;

async function client(echo: (response: ServerResponse) => void, key: string) {
  const server = createServer((_request, response) => echo(response));
  const { url, close } = await listenOnLoopback(server);
  onTestFinished(close);
  const records: Call[] = [];
  const api = createApi({
    baseUrl: url,
    key: keyFromValue(key),
    governor: {
      acquire: async () => () => undefined,
      keyChanged: () => undefined,
    },
    record: (call) => void records.push(call),
    clock: { ...systemClock, sleep: async () => undefined },
    random: () => 0,
    userAgent: 'market-mirror/test',
  });
  onTestFinished(() => api.close());
  /** All that is kept or shown of one answer. */
  return async () => {
    const { signal } = new AbortController();
    const shown = await api.get({ job: 'news', walkId: 1, path: '/api/v1/news', query: {} }, signal).then(
      ({ body, json, call }) => ({ text: body.text(), json, call }),
      (thrown: Error) => ({ message: thrown.message, stack: thrown.stack }),
    );
    const all = JSON.stringify([shown, records.splice(0)]);
    return { shown, all };
  };
}

/** Every twelve letters in a row. */
const pieces = (key: string) => Array.from({ length: key.length - 11 }, (_, at) => key.slice(at, at + 12));
const found = (text: string, key: string) => pieces(key).filter((piece) => text.includes(piece));

const html: Echo = (response, before, key) =>
  void response.setHeader('content-type', 'text/html').end(`${before}${key}</pre>`);
const json =
  (status: number, of: (before: string, key: string) => object): Echo =>
  (response, before, key) =>
    void response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify(of(before, key)));
const code = (before: string, key: string) => ({ error: `${before.slice(0, 60)}${key}`, message: key });

const echoes: [name: string, echo: Echo][] = [
  ['a page of HTML', html],
  [
    'broken JSON',
    (response, before, key) =>
      void response.setHeader('content-type', 'application/json').end(`{"${before}${key}`),
  ],
  [
    'an answer in three chunks',
    (response, before, key) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.write(before + key.slice(0, 9));
      response.write(key.slice(9, 30), () => response.end(key.slice(30)));
    },
  ],
  [
    'an answer that a proxy compressed',
    (response, before, key) =>
      void response
        .writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' })
        .end(gzipSync(before + key)),
  ],
  [
    'an answer in an encoding that nobody reads',
    (response, before, key) =>
      void response
        .writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'br' })
        .end(`${before}${key.slice(0, 20)}\0${key.slice(20)}`),
  ],
  [
    'a request id',
    (response, before, key) => void response.setHeader('x-request-id', `${before.slice(0, 140)}${key}`).end(),
  ],
  [
    'an encoding',
    (response, before, key) =>
      void response
        .setHeader('content-type', 'application/json')
        .setHeader('content-encoding', `${before.slice(0, 140)}${key}`)
        .end('{}'),
  ],
  [
    'a redirect',
    (response, before, key) => void response.writeHead(302, { location: `/${before}${key}` }).end(),
  ],
  ...[401, 403, 503].map((status): [string, Echo] => [`an error ${status}`, json(status, code)]),
  [
    'rows',
    json(200, (before, key) => ({ rows: [{ id: `${before}${key}`, [key]: 1, headers: { a: [key] } }] })),
  ],
  [
    'a body larger than any page',
    (response, before, key) =>
      void response.setHeader('content-type', 'text/html').end(before + key + ' '.repeat(17 * 1024 ** 2)),
  ],
  [
    'a connection that breaks',
    (response, before, key) => {
      response.writeHead(200, { 'content-length': '10000', 'x-request-id': key });
      response.write(before + key, () => response.destroy());
    },
  ],
];

test.each(echoes)('%s that quotes the key, at whatever offset, gives none of it away', async (name, echo) => {
  let before = '';
  const ask = await client((response) => echo(response, before, KEY), KEY);
  const huge = name.includes('larger') || name.includes('breaks');
  // Wherever a text is cut, three of these offsets leave a piece of the key before the cut.
  for (let at = 0; at <= 260; at += huge ? 130 : 13) {
    before = '-'.repeat(at);
    const { all } = await ask();
    expect(found(all, KEY), `${at} letters before the key`).toEqual([]);
  }
});

test('in rows [key] stands where the key stood, and all else stays as it came', async () => {
  const sent = { rows: [{ id: 'ä1', note: `Bearer ${KEY}, twice ${KEY}`, at: 1.5 }] };
  const ask = await client(
    (response) => void response.setHeader('content-type', 'application/json').end(JSON.stringify(sent)),
    KEY,
  );
  const { shown } = await ask();
  const kept = { rows: [{ id: 'ä1', note: 'Bearer [key], twice [key]', at: 1.5 }] };
  expect(shown).toMatchObject({ text: JSON.stringify(kept), json: kept });
});

test.each<[string, (key: string) => string]>([
  ['as it is', (key) => key],
  ['in JSON', (key) => JSON.stringify(key).slice(1, -1)],
  ['in JSON with slashes escaped', (key) => JSON.stringify(key).slice(1, -1).replaceAll('/', '\\/')],
  [
    'in JSON with all signs escaped',
    (key) => key.replace(/[^a-z0-9_]/gi, (sign) => `\\u00${sign.charCodeAt(0).toString(16).toUpperCase()}`),
  ],
  ['in an address', encodeURIComponent],
  [
    'in an address, in small letters',
    (key) => encodeURIComponent(key).replace(/%../g, (sign) => sign.toLowerCase()),
  ],
  [
    'in HTML',
    (key) =>
      key
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;')
        .replaceAll("'", '&#39;'),
  ],
])('a key of signs that are spelt otherwise is hidden as well: %s', async (_name, spelt) => {
  const ask = await client(
    (response) => void response.setHeader('content-type', 'text/html').end(`<p>${spelt(SPECIAL)}</p>`),
    SPECIAL,
  );
  const { all } = await ask();
  expect(all).toContain('<p>[key]</p>');
});

test('words that are as short as no key is are left in the rows', async () => {
  const ask = await client(
    (response) => void response.setHeader('content-type', 'application/json').end('{"rows":["test"]}'),
    'test',
  );
  expect((await ask()).shown).toMatchObject({ json: { rows: ['test'] } });
});
