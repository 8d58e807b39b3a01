/** Keys that are none, and ways of giving one that are none. */

import { expect, test } from 'vitest';
import { errorIn, expectNothingKept, NEWS, setupAbuse, sharedAbuse } from './support.ts';

const shared = sharedAbuse();

const bearer = (key: string) => `Authorization: Bearer ${key}`;

/** By what is wrong with it: the headers that carry a key that would open the endpoint. */
const wrong: Record<string, (key: string) => string[]> = {
  'without a key': () => [],
  'an empty header': () => ['Authorization: '],
  'the word alone': () => ['Authorization: Bearer'],
  'the word and a space': () => ['Authorization: Bearer '],
  'a key without the word': (key) => [`Authorization: ${key}`],
  'another word': (key) => [`Authorization: Token ${key}`],
  'a colon behind the word': (key) => [`Authorization: Bearer: ${key}`],
  'a tab behind the word': (key) => [`Authorization: Bearer\t${key}`],
  'a no-break space behind the word': (key) => [`Authorization: Bearer\xa0${key}`],
  'quotes around the key': (key) => [bearer(`"${key}"`)],
  Basic: (key) => [`Authorization: Basic ${Buffer.from(`key:${key}`).toString('base64')}`],
  'Basic and the key as it is': (key) => [`Authorization: Basic ${key}`],
  'two headers that agree': (key) => [bearer(key), bearer(key)],
  'two headers, the first of which is right': (key) => [bearer(key), bearer('mmkey_other')],
  'two headers, the second of which is right': (key) => [bearer('mmkey_other'), bearer(key)],
  'two headers, one of them in capitals': (key) => [bearer(key), `AUTHORIZATION: Bearer ${key}`],
  'two keys in one header': (key) => [bearer(`${key}, Bearer ${key}`)],
  'something behind the key': (key) => [bearer(`${key} x`)],
  'the last letter missing': (key) => [bearer(key.slice(0, -1))],
  'the checksum missing': (key) => [bearer(key.slice(0, -6))],
  'the prefix missing': (key) => [bearer(key.slice('mmkey_'.length))],
  'a letter more': (key) => [bearer(`${key}a`)],
  'the key twice': (key) => [bearer(key + key)],
  'one letter exchanged': (key) => [
    bearer(`${key.slice(0, 20)}${key[20] === 'a' ? 'b' : 'a'}${key.slice(21)}`),
  ],
  'two letters swapped': (key) => [bearer(swapped(key))],
  'small letters': (key) => [bearer(key.toLowerCase())],
  capitals: (key) => [bearer(key.toUpperCase())],
  'a letter that looks alike': (key) => [bearer(Buffer.from(key.replace('m', '\u043c')).toString('latin1'))],
  'a letter of full width': (key) => [bearer(Buffer.from(key.replace('k', '\uff4b')).toString('latin1'))],
  'a space in its middle': (key) => [bearer(`${key.slice(0, 20)} ${key.slice(20)}`)],
  'percent signs': (key) => [bearer(key.replace('_', '%5F'))],
  'its checksum exchanged': (key) => [bearer(`${key.slice(0, -6)}000000`)],
  'another header': (key) => [`X-API-Key: ${key}`],
  'the header for proxies': (key) => [`Proxy-Authorization: Bearer ${key}`],
  'a cookie': (key) => [`Cookie: key=${key}; authorization=Bearer ${key}`],
  'nine thousand letters': () => [bearer('a'.repeat(9_000))],
};

test.each(Object.keys(wrong))('401 for %s, and nothing else is told', async (what) => {
  const abused = shared();
  const { host, key, get } = abused;
  const absent = await get(NEWS, [`Host: ${host}`]);
  const refused = await get(NEWS, [`Host: ${host}`, ...(wrong[what]?.(key) ?? [])]);
  expect([refused.status, errorIn(abused, refused)]).toEqual([401, 'invalid_api_key']);
  expect(withoutNames(refused)).toEqual(withoutNames(absent));
  expectNothingKept(abused);
});

test('the word Bearer may be written in any case, and spaces may follow the key', async () => {
  const { host, key, get } = shared();
  for (const header of [`bearer ${key}`, `BEARER ${key}`, `Bearer ${key}  `])
    expect((await get(NEWS, [`Host: ${host}`, `Authorization: ${header}`])).status).toBe(200);
});

test('a key in the query is none, and is not written into the log', async () => {
  const abused = shared();
  const { host, key, get } = abused;
  const query = `key=${key}&api_key=${key}&access_token=${key}&authorization=Bearer+${key}`;
  const refused = await get(`${NEWS}?${query}`, [`Host: ${host}`]);
  expect([refused.status, errorIn(abused, refused)]).toEqual([401, 'invalid_api_key']);
  const found = await get(`/${key}?${query}`);
  expect([found.status, errorIn(abused, found)]).toEqual([404, 'not_found']);
  expectNothingKept(abused);
});

test('expired, revoked, unknown: 401 in the same words; another scope, another address: 403 in the same words', async () => {
  const abused = shared();
  const { host, get, serve } = abused;
  const expired = serve.issue({ name: 'expired', expiresAt: serve.bench.clock.now() - 1 });
  const revoked = serve.issue({ name: 'revoked' });
  serve.revoke(revoked.record.id);
  const unknown = (await setupAbuse()).key;
  const elsewhere = serve.issue({ name: 'elsewhere', addresses: ['192.0.2.0/24'] });
  const otherScope = serve.issue({ name: 'other', scopes: ['meme:read'] });
  const answersTo = (keys: string[]) =>
    Promise.all(keys.map(async (key) => withoutNames(await get(NEWS, [`Host: ${host}`, bearer(key)]))));
  const refused = await answersTo([expired.key, revoked.key, unknown]);
  const forbidden = await answersTo([elsewhere.key, otherScope.key]);
  expect(refused.map(({ status }) => status)).toEqual([401, 401, 401]);
  expect(new Set(refused.map(({ head, body }) => head + body)).size).toBe(1);
  expect(forbidden.map(({ status }) => status)).toEqual([403, 403]);
  expect(new Set(forbidden.map(({ head, body }) => head + body)).size).toBe(1);
});

/** All that could tell one refusal from another: not the request's name, not the time. */
function withoutNames<T extends { head: string }>(answer: T): T {
  return { ...answer, head: answer.head.replace(/^(x-request-id|date): .*$/gim, '$1') };
}

/** The first two neighbours that differ, exchanged. */
function swapped(key: string): string {
  const letters = [...key];
  const at = letters.findIndex((letter, place) => place > 6 && letter !== letters[place + 1]);
  [letters[at], letters[at + 1]] = [letters[at + 1] ?? '', letters[at] ?? ''];
  return letters.join('');
}
