import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Receipt } from '../../../src/reading/export.ts';
import { sharedPage } from './support.ts';

const openedPage = sharedPage();

let downloads = 0;

async function setup(page = openedPage()) {
  /** The addresses of a download and its receipt. */
  const addressOf = ({ params = {}, ...query }: Record<string, unknown>) => {
    downloads += 1;
    const path = `/page/downloads/${downloads}`;
    const search = new URLSearchParams({ format: 'csv', params: JSON.stringify(params), ...query });
    return { path: `${path}?${search}`, receiptPath: `${path}/receipt` };
  };
  return { ...(await page), addressOf };
}

const SQL = 'SELECT _key, _walk_id FROM news WHERE _walk_id = :walk ORDER BY _key';
const question = { sql: SQL, params: { walk: 1 } };
const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)';

test('a download is the whole answer, with the receipt that export writes', async () => {
  const { bench, addressOf, get, url } = await setup();
  const { path, receiptPath } = addressOf({ ...question, name: 'my-news' });
  for (const each of [path, receiptPath])
    expect((await fetch(`${url}${each}`)).status, 'without a session').toBe(401);
  expect((await get(receiptPath)).status, 'before it is asked for').toBe(404);
  const answer = await get(path);
  const early = await get(receiptPath);
  expect([[200, 409].includes(early.status)]).toEqual([true]);
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

test('one that breaks in the middle is cut off, not ended, and its receipt says why', async () => {
  const { addressOf, get } = await setup();
  const { path, receiptPath } = addressOf({
    sql: `${endless} SELECT i, json_extract(iif(i = 20000, '{', '{}'), '$') FROM n LIMIT 30000`,
  });
  await expect((async () => (await get(path)).text())()).rejects.toThrow();
  const told = await get(receiptPath);
  expect([told.status, await told.json()]).toEqual([
    410,
    { failed: { kind: 'usage', message: 'malformed JSON' } },
  ]);
});

test('no download comes of wrong SQL, of SQL that writes, in another form, or by a name that is a path or a header', async () => {
  const { addressOf, get } = await setup();
  for (const [query, message] of [
    [{ sql: 'SELEC' }, /near "SELEC": syntax error/],
    [{ sql: 'DELETE FROM news' }, /the database is read-only/],
    [{ sql: 'SELECT 1', format: 'html' }, /csv, ndjson or parquet/],
    [{ sql: 'SELECT 1', name: '../x' }, /letters/],
    [{ sql: 'SELECT 1', name: 'a"\r\nx: y' }, /letters/],
  ] as const) {
    const answer = await get(addressOf(query).path);
    expect([answer.status, await answer.json()]).toEqual([
      400,
      { failed: { kind: 'usage', message: expect.stringMatching(message) } },
    ]);
  }
});
