/** Answers that are not as the specification has them, where nothing is at risk: they are read as curl reads them. */

import type { ServerResponse } from 'node:http';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { read } from '../helpers/sync-bench.ts';
import { json, pageFor, setupUpstream } from '../helpers/upstream.ts';

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** How a page is sent: with which Content-Encoding (several headers, or none), and as which bytes. */
type Form = [encoding: string | string[] | undefined, bytes: (text: string) => Buffer | string];

const send = (response: ServerResponse, text: string, [encoding, bytes]: Form, status = 200) =>
  json(
    response,
    bytes(text),
    encoding === undefined ? {} : { 'content-encoding': encoding as string },
    status,
  );

const plain = (text: string) => text;
const withMark = (text: string) => Buffer.concat([BOM, Buffer.from(text)]);

const readable: [string, Form][] = [
  ['with a byte order mark', [undefined, withMark]],
  ...['utf8', 'None', 'IDENTITY , none', '', ',', 'iso-8859-1', 'zstd'].map((encoding): [string, Form] => [
    `plain, called '${encoding}'`,
    [encoding, plain],
  ]),
  ['plain, called identity twice', [['identity', 'utf-8'], plain]],
  ['plain, called gzip', ['gzip', plain]],
  ['in gzip', ['gzip', gzipSync]],
  ['in gzip, called x-gzip', ['X-GZip', gzipSync]],
  ['in gzip with a mark inside', ['gzip', (text) => gzipSync(withMark(text))]],
  ['in gzip and a charset', ['utf-8, gzip', gzipSync]],
  ['in gzip twice, by two headers', [['gzip', 'gzip'], (text) => gzipSync(gzipSync(text))]],
  ['in gzip within brotli', ['gzip, br', (text) => brotliCompressSync(gzipSync(text))]],
  ['in brotli', ['br', (text) => brotliCompressSync(text)]],
  ['in deflate', ['deflate', (text) => deflateSync(text)]],
  ['in deflate without its frame', ['deflate', (text) => deflateRawSync(text)]],
];

test('a dataset whose pages come in any form that can be read, now in this one, now in that, is mirrored as it is', async () => {
  const bench = await setupUpstream(() => undefined);
  for (const [name, form] of readable) {
    bench.answer = (response, _, request) => send(response, pageFor(request, 130), form);
    const { code, stderr } = await bench.sync();
    expect([name, code, stderr]).toEqual([name, 0, expect.stringContaining('verified: 130 rows')]);
  }
  expect(read(bench.file, `SELECT title FROM news WHERE _key = 'row-129'`)).toEqual([{ title: 'Title 129' }]);
  expect(read(bench.file, 'SELECT count(*) AS versions FROM news_history')).toEqual([{ versions: 0 }]);
  expect(read(bench.file, `SELECT _body FROM news WHERE _key = 'row-0'`)).toEqual([
    { _body: '{"id":"row-0","title":"Title 0"}' },
  ]);
});

test('a snapshot of usage is kept without its byte order mark', async () => {
  const bench = await setupUpstream((response) => send(response, '{"calls":7}', [undefined, withMark]));
  expect((await bench.run('sync', 'usage')).code).toBe(0);
  expect(read(bench.file, 'SELECT _body FROM usage')).toEqual([{ _body: '{"calls":7}' }]);
});

test('an error is read alike', async () => {
  const said = '{"error":"key_retired","message":"This key was retired"}';
  for (const form of [
    [undefined, withMark],
    ['utf-8', plain],
    ['gzip', gzipSync],
  ] as Form[]) {
    const bench = await setupUpstream((response) => send(response, said, form, 401));
    expect(await bench.sync()).toMatchObject({
      code: 77,
      stderr: expect.stringContaining('key_retired: This key was retired'),
    });
  }
});

const cut = (bytes: Buffer) => bytes.subarray(0, bytes.length - 20);
const damaged = (bytes: Buffer) => {
  const copy = Buffer.from(bytes);
  copy.fill(0xff, 30, 60);
  return copy;
};

const wrongSum = (bytes: Buffer) => bytes.fill(0, bytes.length - 8, bytes.length - 4);

const unreadable: [string, Form, told: RegExp][] = [
  ['in gzip that is cut', ['gzip', (text) => cut(gzipSync(text))], /answers badly \(.*gzip/],
  ['in gzip that is damaged', ['gzip', (text) => damaged(gzipSync(text))], /answers badly \(.*gzip/],
  ['in gzip whose checksum is wrong', ['gzip', (text) => wrongSum(gzipSync(text))], /answers badly \(.*gzip/],
  ['as something else called gzip', ['gzip', () => '<p>Hello</p>'], /answers badly \(.*gzip/],
  ['in brotli that is cut', ['br', (text) => cut(brotliCompressSync(text))], /answers badly \(.*br/],
  ['in an encoding that nobody asked for', ['zstd', () => Buffer.from([1, 2, 3])], /encoding zstd that/],
  ['in gzip of nothing', ['gzip', () => gzipSync('')], /an empty answer/],
];

describe('a page', () => {
  test.each(unreadable)('%s ends with 65, named as what it is', async (_, form, told) => {
    const bench = await setupUpstream((response, __, request) => send(response, pageFor(request, 50), form));
    const { code, stderr } = await bench.sync();
    expect([code, stderr]).toEqual([65, expect.stringMatching(told)]);
    if (told.source.startsWith('answers')) expect(stderr).not.toContain('not asked for');
    // The page and the one behind it, each at most three times; later runs ask for the page alone.
    expect(bench.requests.length).toBeLessThanOrEqual(6);
  });

  test('that cannot be read once is asked for again', async () => {
    const broken: Form = ['gzip', (text) => cut(gzipSync(text))];
    const bench = await setupUpstream((response, nth, request) =>
      send(response, pageFor(request, 130), nth === 2 ? broken : [undefined, plain]),
    );
    expect((await bench.sync()).code).toBe(0);
    expect(bench.rows()).toBe(130);
  });

  test('that unpacks to more than a page may be says so', async () => {
    const bench = await setupUpstream((response) =>
      send(response, '', ['gzip', () => gzipSync(Buffer.alloc(17 * 2 ** 20, ' '))]),
    );
    expect(await bench.sync()).toMatchObject({
      code: 65,
      stderr: expect.stringContaining('an answer larger than any page may be'),
    });
  });
});
