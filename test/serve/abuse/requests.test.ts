/** Requests that are none of ours, in every odd form: each gets one clear answer, and tells nothing of keys or of this machine. */

import { expect, test } from 'vitest';
import { newKey } from '../../../src/serve/access/keys.ts';
import { type Abused, errorIn, expectNothingKept, NEWS, sharedAbuse } from './support.ts';

const shared = sharedAbuse({ walked: ['news', 'ai-signals'] });

const words = (text: string) => text.split(' ');
const bearer = (key: string) => `Authorization: Bearer ${key}`;

/** Paths count letter for letter. */
const nowhere = [
  ...words(
    '/api/v1 /api/v1/../v1/news /api/v1/./news /api/v1/%2e%2e/v1/news /api/v1/%2E/news /api/v1/news/..',
  ),
  ...words('/healthz/../api/v1/news //api/v1/news /api//v1/news /api/v1//news /api/v1/news/ /.. /'),
  ...words(
    '/api/v1/news; /api/v1/news;x=1 /api/v1/news%3Flimit=1 /api/v1/news%23 /api/v1/news#x /api/v1%2fnews',
  ),
  ...words('/api/v1/news%00 /api/v1/news%00.json /api/v1/news%0D%0AX:%201 /api/v1/news%20 /api/v1/%E0%A4%A'),
  ...words(
    '/api%5Cv1%5Cnews /api/v1/%6eews /api/v1/n%C3%A9ws /api/v1/% /api/v1/%zz //evil.example/api/v1/news',
  ),
  ...words('/API/v1/news /api/v1/NEWS /api/v2/news /api/v1/* /api/v1/:name /* /:x /@x/api/v1/news'),
  ...words('/../../etc/passwd /..%2f..%2fetc%2fpasswd /mirror.db /serve.db /.env /__proto__ /constructor'),
  ...[`/${'a'.repeat(8_000)}`, `/${'../'.repeat(2_600)}`, `/${'%2e%2e/'.repeat(1_100)}`],
];
const noTargets = [
  ...words(String.raw`* api/v1/news ?limit=1 \api\v1\news /api\v1\news /\evil.example /api/v1/news\?limit=1`),
  ...words('evil:80 ftp://x/api/v1/news http:// http:/api http://evil.example/api/v1/news'),
  ...['/api/v1/ne\0ws', '/api/v1/news\x7f', '/api/v1/n\xe9ws', '/api/v1/news x', '', '/api/v1/news\t'],
];
const otherHosts = [
  ...words('evil.example localhost.evil.example 127.1 2130706433 0x7f.1 localhost. 192.0.2.1 0.0.0.0 \xe9'),
  ...words(
    String.raw`user@localhost localhost/ localhost# localhost? localhost\ localhost: localhost:x [::1`,
  ),
  ...words('localhost:99999 localhost:80:80 ::1 %6cocalhost 127.0.0.1%00 [::ffff:127.0.0.1]'),
  ...['', ' ', 'localhost, evil.example', 'localhost evil'],
];
/** What is no integer. */
const nonsense = [
  ...words('%20 %201 1%20 +5 1%0A 1%00 %00 1.5 1.0 1e3 0x10 0b1 1n 1_0 1,0 --1 %2B-1 NaN Infinity -Infinity'),
  ...words(`null undefined true [] {} 1;2 1' 1-- %D9%A3 %EF%BC%91 %u0031 % %zz %ff (SELECT+1)`),
  '',
];

/** Headers that carry a key which would open the endpoint, or almost. */
const wrongKeys = (key: string): string[][] => [
  [],
  ...[
    '',
    'Bearer',
    'Bearer ',
    key,
    `Token ${key}`,
    `Bearer: ${key}`,
    `Bearer\t${key}`,
    `Bearer\xa0${key}`,
  ].map((value) => [`Authorization: ${value}`]),
  ...[key, Buffer.from(`key:${key}`).toString('base64')].map((value) => [`Authorization: Basic ${value}`]),
  ...[[`X-API-Key: ${key}`], [`Proxy-Authorization: Bearer ${key}`], [`Cookie: authorization=Bearer ${key}`]],
  ...[
    ...[`"${key}"`, `${key}, Bearer ${key}`, `${key} x`, key + key, key.slice(0, -1), key.slice(0, -6)],
    ...[key.slice('mmkey_'.length), `${key}a`, key.toLowerCase(), key.toUpperCase(), swapped(key)],
    ...[`${key.slice(0, 20)} ${key.slice(20)}`, key.replace('_', '%5F'), `${key.slice(0, -6)}000000`],
    'a'.repeat(9_000),
    // Letters that look like those of the key, one of them of full width.
    ...['\u043c', '\uff4b'].map((letter) => Buffer.from(key.replace('m', letter)).toString('latin1')),
  ].map((value) => [bearer(value)]),
];
const twoHeaders = (key: string): string[][] => [
  [bearer(key), bearer(key)],
  [bearer(key), bearer('mmkey_other')],
  [bearer('mmkey_other'), bearer(key)],
  [bearer(key), `AUTHORIZATION: Bearer ${key}`],
];
/** Keys that once opened it, or never did. */
function closedKeys({ serve }: Abused): string[] {
  const expired = serve.issue({ name: 'expired', expiresAt: serve.bench.clock.now() - 1 });
  const revoked = serve.issue({ name: 'revoked' });
  serve.revoke(revoked.record.id);
  return [expired.key, revoked.key, newKey()];
}
const narrowKeys = ({ serve }: Abused) =>
  [{ addresses: ['192.0.2.0/24'] }, { scopes: ['meme:read'] }].map((terms) => serve.issue(terms).key);

/** The first two neighbours that differ, exchanged. */
function swapped(key: string): string {
  const at = [...key].findIndex((letter, place) => place > 6 && letter !== key[place + 1]);
  return `${key.slice(0, at)}${key[at + 1]}${key[at]}${key.slice(at + 2)}`;
}

type Request = readonly [line: string, headers: readonly string[]];

/** By what is wrong with them: the answer, and the requests that get it. */
const refused: Record<string, [status: number, error: string, requests: (abused: Abused) => Request[]]> = {
  'a path that is not ours': [
    404,
    'not_found',
    (abused) => nowhere.map((path) => [`GET ${path}`, known(abused)]),
  ],
  'a target that is no path': [
    400,
    'bad_request',
    (abused) =>
      [...noTargets, `http://${abused.host}${NEWS}`, `https://${abused.host}${NEWS}`].map((target) => [
        `GET ${target}`,
        known(abused),
      ]),
  ],
  'a host that is not ours': [
    421,
    'misdirected_request',
    ({ key }) => otherHosts.map((host) => [`GET ${NEWS}`, [`Host: ${host}`, bearer(key)]]),
  ],
  'a host that is said to be ours by what only proxies may say': [
    421,
    'misdirected_request',
    ({ key }) =>
      ['X-Forwarded-Host: localhost', 'Forwarded: host=localhost', `X-Original-URL: ${NEWS}`].map(
        (forged) => [`GET ${NEWS}`, ['Host: evil.example', forged, bearer(key)]],
      ),
  ],
  'a method that is not for reading': [
    405,
    'method_not_allowed',
    (abused) =>
      words('OPTIONS TRACE PUT POST DELETE PATCH PROPFIND QUERY M-SEARCH').flatMap((method) => [
        [`${method} ${NEWS}`, ['X-Canary: 1', ...known(abused)]],
        [`${method} ${NEWS}`, ['X-Canary: 1', `Host: ${abused.host}`]],
      ]),
  ],
  'a method that is none': [
    400,
    'bad_request',
    ({ host }) => words('get Get FOO GET/').map((method) => [`${method} ${NEWS}`, [`Host: ${host}`]]),
  ],
  'a key that is none, or is given as none is': [
    401,
    'invalid_api_key',
    ({ host, key }) => wrongKeys(key).map((headers) => [`GET ${NEWS}`, [`Host: ${host}`, ...headers]]),
  ],
  'two headers with keys, also where one is right': [
    401,
    'invalid_api_key',
    ({ host, key }) => twoHeaders(key).map((headers) => [`GET ${NEWS}`, [`Host: ${host}`, ...headers]]),
  ],
  'a key in the query': [
    401,
    'invalid_api_key',
    ({ host, key }) =>
      ['key', 'api_key', 'access_token', 'authorization=Bearer+'].map((name) => [
        `GET ${NEWS}?${name}=${key}`,
        [`Host: ${host}`],
      ]),
  ],
  'a key in the path': [
    404,
    'not_found',
    (abused) => [[`GET /${abused.key}?key=${abused.key}`, known(abused)]],
  ],
  'a key that expired, was revoked or was never issued': [
    401,
    'invalid_api_key',
    (abused) => closedKeys(abused).map((key) => [`GET ${NEWS}`, [`Host: ${abused.host}`, bearer(key)]]),
  ],
  'a key for another address, or without the scope': [
    403,
    'forbidden',
    (abused) => narrowKeys(abused).map((key) => [`GET ${NEWS}`, [`Host: ${abused.host}`, bearer(key)]]),
  ],
  'a seq that was never the X-Mirror-Seq of an answer': [
    400,
    'invalid_seq',
    (abused) =>
      [
        ...nonsense,
        ...words('-1 -0 00 01 9007199254740991 9007199254740993 999999999999999'),
        '1'.repeat(400),
      ].map((seq) => [`GET ${NEWS}?seq=${seq}`, known(abused)]),
  ],
};

const known = ({ host, key }: Abused) => [`Host: ${host}`, bearer(key)];

test.each(Object.entries(refused))('%s is refused', async (_, [status, error, requests]) => {
  const abused = shared();
  const words = new Set<string>();
  for (const [line, headers] of requests(abused)) {
    const answer = await abused.send(`${line} HTTP/1.1`, headers);
    expect([line, headers, answer.status, errorIn(abused, answer)]).toEqual([line, headers, status, error]);
    expect(answer.head + answer.body).not.toMatch(/^(location|x-mirror|access-control)|canary/im);
    if (status !== 400) expect(answer.head).toMatch(/^x-request-id: [0-9a-f-]{36}\r$/im);
    if (status === 405) expect(answer.head).toMatch(/^allow: GET, HEAD\r$/im);
    words.add(answer.head.replace(/^(x-request-id|date): .*$/gim, '') + answer.body);
  }
  if (status === 401 || status === 403) expect(words.size, 'the same in every word').toBe(1);
  expect((await abused.get(NEWS)).status).toBe(200);
  expectNothingKept(abused);
});

test('the word Bearer may be written in any case, and spaces may follow the key', async () => {
  const { host, key, get } = shared();
  for (const header of [`bearer ${key}`, `BEARER ${key}`, `Bearer ${key}  `])
    expect((await get(NEWS, [`Host: ${host}`, `Authorization: ${header}`])).status).toBe(200);
});

const MOST = Number.MAX_SAFE_INTEGER;

/** By the query: offset, limit, and how many of five rows come. */
const windows: [query: string, offset: number, limit: number, rows: number][] = [
  // What is no integer counts as not given.
  ...nonsense.flatMap((text): [string, number, number, number][] => [
    [`offset=${text}`, 0, 50, 5],
    [`limit=${text}`, 0, 50, 5],
  ]),
  ...['9007199254740991', '9007199254740993', '18446744073709551616', '1'.repeat(400)].flatMap(
    (text): [string, number, number, number][] => [
      [`offset=${text}`, MOST, 50, 0],
      [`limit=${text}`, 0, 100, 5],
    ],
  ),
  ...[`-${'1'.repeat(400)}`, '-9007199254740993', '-0', '0'].flatMap(
    (text): [string, number, number, number][] => [
      [`offset=${text}`, 0, 50, 5],
      [`limit=${text}`, 0, 1, 1],
    ],
  ),
  ...['%2B3', '%33', '0003'].flatMap((text): [string, number, number, number][] => [
    [`offset=${text}`, 3, 50, 2],
    [`limit=${text}`, 0, 3, 3],
  ]),
  // Of what is repeated the first counts.
  ['offset=1&offset=2', 1, 50, 4],
  ['offset=x&offset=1', 0, 50, 5],
  ['limit=1&limit=100', 0, 1, 1],
  ['%6Fffset=2', 2, 50, 3],
  ['&&&offset=1&&', 1, 50, 4],
  ['offset', 0, 50, 5],
];

test('a parameter that is not there is refused, with those that are', async () => {
  const abused = shared();
  for (const query of [
    ...['offset[]=1', 'offset.x=1', 'OFFSET=1', 'Limit=1', 'offset%00=1', '?offset=1', '%', '__proto__=1'],
    ...['constructor=1', 'lane=ready', 'limit=1&grade=A', 'x=1&'.repeat(1_900), 'a'.repeat(7_900)],
  ]) {
    const answer = await abused.get(`${NEWS}?${query}`);
    expect([query, answer.status, errorIn(abused, answer)]).toEqual([query, 400, 'unknown_parameter']);
    expect(JSON.parse(answer.body).message).toBe(
      'There is no such parameter. There are offset, limit, seq, q, category, symbol, market, source, filter, kind.',
    );
  }
});

test('offset and limit are brought into range, and are the default where they are no integer', async () => {
  const { get } = shared();
  for (const [query, ...expected] of windows) {
    const { status, body } = await get(`${NEWS}?${query}`);
    expect([query, status]).toEqual([query, 200]);
    const { rows, pagination } = JSON.parse(body);
    expect(pagination.returned).toBe(rows.length);
    expect([query, pagination.offset, pagination.limit, rows.length]).toEqual([query, ...expected]);
  }
});

test('in a filter nothing of SQL, of patterns or of paths means more than its letters', async () => {
  const { get, serve } = shared();
  const letters = words(String.raw`' "; %25 * _ [a-z] $.id \ %00 %FF`);
  for (const text of [...letters, "'+OR+'1'='1", '";+DROP+TABLE+news;+--'])
    for (const name of ['q', 'category', 'kind', 'symbol'])
      expect([name, text, (await get(`${NEWS}?${name}=${text}`)).status]).toEqual([name, text, 200]);
  expect(serve.bench.sql('SELECT count(*) AS rows FROM news')).toEqual([{ rows: 5 }]);
});
