/** Parameters in every odd form. */

import { expect, test } from 'vitest';
import { errorIn, expectNothingKept, NEWS, sharedAbuse } from './support.ts';

const shared = sharedAbuse();

const MOST = Number.MAX_SAFE_INTEGER;

/** What is no integer counts as not given. */
const nonsense = [
  '',
  ...'%20 %201 1%20 +5 1%0A 1%00 %00 1.5 1.0 1e3 0x10 0b1 1n 1_0 1,0 --1 %2B-1 NaN Infinity -Infinity'.split(
    ' ',
  ),
  ...`null undefined true [] {} 1;2 1' 1-- %D9%A3 %EF%BC%91 %u0031 % %zz %ff (SELECT+1)`.split(' '),
];

test('offset and limit: what is no integer is the default', async () => {
  const { get } = shared();
  for (const text of nonsense) {
    const [offset, limit] = await Promise.all(
      ['offset', 'limit'].map((name) => get(`${NEWS}?${name}=${text}`)),
    );
    expect([text, windowOf(offset)]).toEqual([text, [0, 50, 5]]);
    expect([text, windowOf(limit)]).toEqual([text, [0, 50, 5]]);
  }
});

test.each([
  ['9007199254740991', MOST, 100],
  ['9007199254740992', MOST, 100],
  ['9007199254740993', MOST, 100],
  ['9223372036854775808', MOST, 100],
  ['18446744073709551616', MOST, 100],
  ['1'.repeat(400), MOST, 100],
  [`-${'1'.repeat(400)}`, 0, 1],
  ['-9007199254740993', 0, 1],
  ['-0', 0, 1],
  ['0', 0, 1],
  ['%2B3', 3, 3],
  ['%33', 3, 3],
  ['0003', 3, 3],
])('%s is brought into range', async (text, offset, limit) => {
  const { get } = shared();
  expect(windowOf(await get(`${NEWS}?offset=${text}`))).toEqual([offset, 50, Math.max(0, 5 - offset)]);
  expect(windowOf(await get(`${NEWS}?limit=${text}`))).toEqual([0, limit, Math.min(5, limit)]);
});

test.each([
  ['offset=1&offset=2', [1, 50, 4]],
  ['offset=x&offset=1', [0, 50, 5]],
  ['limit=1&limit=100', [0, 1, 1]],
  ['%6Fffset=2', [2, 50, 3]],
  ['offset[]=1&offset[0]=1&offset.x=1', [0, 50, 5]],
  ['OFFSET=1&Limit=1', [0, 50, 5]],
  ['offset%00=1', [0, 50, 5]],
  ['&&&offset=1&&', [1, 50, 4]],
  ['?offset=1', [0, 50, 5]],
  ['offset', [0, 50, 5]],
  ['%', [0, 50, 5]],
  ['__proto__=1&constructor=1&toString=1', [0, 50, 5]],
  ['x=1&'.repeat(1_900), [0, 50, 5]],
  ['a'.repeat(7_900), [0, 50, 5]],
])('of what is repeated the first counts, and what is unknown does not: %s', async (query, expected) => {
  const { get } = shared();
  expect(windowOf(await get(`${NEWS}?${query}`))).toEqual(expected);
});

test('seq: whatever was never the X-Mirror-Seq of an answer is 400, and costs nothing', async () => {
  const abused = shared();
  const { get } = abused;
  const odd = '-1 -0 00 01 9007199254740991 9007199254740993 999999999999999'.split(' ');
  odd.push('1'.repeat(400));
  for (const text of [...nonsense, ...odd]) {
    const answer = await get(`${NEWS}?seq=${text}`);
    expect([text, answer.status, errorIn(abused, answer)]).toEqual([text, 400, 'invalid_seq']);
  }
  const seq = /^x-mirror-seq: (\d+)/im.exec((await get(NEWS)).head)?.[1];
  expect((await get(`${NEWS}?seq=${seq}&seq=x`)).status).toBe(200);
  expect((await get(`${NEWS}?seq=x&seq=${seq}`)).status).toBe(400);
  expectNothingKept(abused);
});

test('filters: nothing of SQL, of patterns or of paths means more than its letters', async () => {
  const { get, serve } = shared();
  const letters = String.raw`' "; %25 * _ [a-z] $.id \ %00 %FF`.split(' ');
  const texts = [...letters, "' OR '1'='1", '"; DROP TABLE news; --'];
  for (const text of texts)
    for (const name of ['q', 'category', 'kind', 'symbol'])
      expect([name, text, (await get(`${NEWS}?${name}=${text.replaceAll(' ', '+')}`)).status]).toEqual([
        name,
        text,
        200,
      ]);
  expect(serve.bench.sql('SELECT count(*) AS rows FROM news')).toEqual([{ rows: 5 }]);
});

/** @returns offset, limit, and how many rows came. */
function windowOf(answer: { status: number; body: string } | undefined): number[] {
  expect(answer?.status).toBe(200);
  const { rows, pagination } = JSON.parse(answer?.body ?? '') as {
    rows: unknown[];
    pagination: { offset: number; limit: number; returned: number };
  };
  expect(pagination.returned).toBe(rows.length);
  return [pagination.offset, pagination.limit, rows.length];
}
