import { createHash } from 'node:crypto';
import { parquetReadObjects } from 'hyparquet';
import { expect, test } from 'vitest';
import type { Receipt } from '../../../src/reading/export.ts';
import type { Download, DownloadQuestion } from '../../../src/serve/ui/wire.ts';
import { setupPage, sharedPage } from './support.ts';

const openedPage = sharedPage();

async function setup(page = openedPage()) {
  const { post, ...rest } = await page;
  const order = async (question: Partial<DownloadQuestion>) => {
    const answer = await post('/page/downloads', { format: 'csv', ...question });
    expect(answer.status).toBe(200);
    return (await answer.json()) as Download;
  };
  return { ...rest, post, order };
}

const SQL = 'SELECT _key, _walk_id FROM news WHERE _walk_id = :walk ORDER BY _key';
const question = { sql: SQL, params: { walk: 1 } };
const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)';

test('a download is the whole answer, with the receipt that export writes', async () => {
  const { bench, order, get, url } = await setup();
  const { path, receiptPath } = await order({ ...question, name: 'my-news' });
  for (const each of [path, receiptPath])
    expect((await fetch(`${url}${each}`)).status, 'without a session').toBe(401);
  const early = await get(receiptPath);
  expect([early.status, await early.json()]).toMatchObject([409, { failed: { kind: 'incomplete' } }]);
  const answer = await get(path);
  expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  const file = 'my-news-20261121T120000Z.csv';
  expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="${file}"`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  const rows = bench.sql('SELECT _key, _walk_id FROM news ORDER BY _key').map(Object.values);
  expect(bytes.toString()).toBe(['_key,_walk_id', ...rows.map(String), ''].join('\n'));
  const told = await get(receiptPath);
  expect(told.headers.get('content-disposition')).toBe(`attachment; filename="${file}.meta.json"`);
  expect((await told.json()) as Receipt).toMatchObject({
    version: 1,
    file,
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    format: 'csv',
    sql: SQL,
    params: { walk: '1' },
    rows: 20,
    job: null,
    since: null,
    exportedAt: '2026-11-21T12:00:00.000Z',
    by: expect.stringMatching(/^market-mirror \d/),
    sources: [{ job: 'news', proof: { walkId: 1 } }],
    csv: { exact: false, defused: 0 },
  });
});

test('it comes as ndjson and as parquet, too', async () => {
  const { order, get } = await setup();
  const lines = await (await get((await order({ ...question, format: 'ndjson' })).path)).text();
  const rows = lines
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(rows).toHaveLength(20);
  const answer = await get((await order({ ...question, format: 'parquet' })).path);
  expect(answer.headers.get('content-type')).toBe('application/vnd.apache.parquet');
  const inParquet = await parquetReadObjects({ file: await answer.arrayBuffer() });
  expect(inParquet.map(({ _key, _walk_id }) => ({ _key, _walk_id: Number(_walk_id) }))).toEqual(rows);
});

test('it is whole, however large', async () => {
  const { order, get } = await setup();
  const { path, receiptPath } = await order({
    sql: `${endless} SELECT i, hex(zeroblob(50)) FROM n LIMIT 60000`,
  });
  const text = await (await get(path)).text();
  expect(text.split('\n')).toHaveLength(60_002);
  expect(await (await get(receiptPath)).json()).toMatchObject({ rows: 60_000, bytes: text.length });
});

test('it is taken once, and not after ten minutes', async () => {
  const { bench, order, get } = await setup(setupPage());
  const { path, receiptPath } = await order(question);
  await (await get(path)).text();
  expect((await get(path)).status).toBe(410);
  const other = await order(question);
  bench.clock.advance(10 * 60_000);
  for (const late of [other.path, path, receiptPath]) expect((await get(late)).status).toBe(404);
});

test('one that breaks in the middle is cut off, not ended, and its receipt says why', async () => {
  const { order, get } = await setup();
  const { path, receiptPath } = await order({
    sql: `${endless} SELECT i, json_extract(iif(i = 20000, '{', '{}'), '$') FROM n LIMIT 30000`,
  });
  await expect((async () => (await get(path)).text())()).rejects.toThrow();
  const told = await get(receiptPath);
  expect([told.status, await told.json()]).toEqual([
    410,
    { failed: { kind: 'usage', message: 'malformed JSON' } },
  ]);
});

test('one whose client goes leaves its place to others', async () => {
  const { order, url, get, cookie } = await setup();
  const sql = `${endless} SELECT hex(randomblob(500)) FROM n`;
  const leaving = new AbortController();
  // Held on to: what nobody holds is cut off when memory is collected.
  const readers: ReadableStreamDefaultReader[] = [];
  for (const { path } of [await order({ sql }), await order({ sql })]) {
    const answer = await fetch(`${url}${path}`, { headers: { cookie }, signal: leaving.signal });
    const reader = (answer.body as ReadableStream).getReader();
    await reader.read();
    readers.push(reader);
  }
  const { path } = await order(question);
  expect((await get(path)).status).toBe(503);
  leaving.abort();
  await Promise.allSettled(readers.map((reader) => reader.read()));
  await expect.poll(async () => (await get(path)).status).toBe(200);
});

test.each([
  ['of SQL that is wrong', { sql: 'SELEC' }, /near "SELEC": syntax error/],
  ['of SQL that writes', { sql: 'DELETE FROM news' }, /the database is read-only/],
  ['in another form', { sql: 'SELECT 1', format: 'html' }, /csv, ndjson or parquet/],
  ['by a name that is a path', { sql: 'SELECT 1', name: '../x' }, /letters/],
  ['by a name that is a header', { sql: 'SELECT 1', name: 'a"\r\nx: y' }, /letters/],
])('no download is ordered %s', async (_, body, message) => {
  const { post } = await setup();
  const answer = await post('/page/downloads', { format: 'csv', ...body });
  expect([answer.status, await answer.json()]).toEqual([
    400,
    { failed: { kind: 'usage', message: expect.stringMatching(message) } },
  ]);
});
