/** Paths, hosts and methods that lead nowhere. */

import { describe, expect, test } from 'vitest';
import { errorIn, expectNothingKept, NEWS, sharedAbuse } from './support.ts';

const shared = sharedAbuse();

describe('a path', () => {
  const nowhere = [
    ...'/api/v1 /api/v1/../v1/news /api/v1/./news /api/v1/%2e%2e/v1/news /api/v1/%2E/news /api/v1/news/..'.split(
      ' ',
    ),
    ...'/healthz/../api/v1/news //api/v1/news /api//v1/news /api/v1//news /api/v1/news/ /.. /'.split(' '),
    ...'/api/v1/news; /api/v1/news;x=1 /api/v1/news%3Flimit=1 /api/v1/news%23 /api/v1/news#x'.split(' '),
    ...'/api/v1/news%00 /api/v1/news%00.json /api/v1/news%0D%0AX:%201 /api/v1/news%20 /api/v1%2fnews'.split(
      ' ',
    ),
    ...'/api%5Cv1%5Cnews /api/v1/%6eews /api/v1/n%C3%A9ws /api/v1/% /api/v1/%zz /api/v1/%E0%A4%A'.split(' '),
    ...'/API/v1/news /api/v1/NEWS /api/v2/news /api/v1/* /api/v1/:name /* /:x /@x/api/v1/news'.split(' '),
    ...'/../../etc/passwd /..%2f..%2fetc%2fpasswd /mirror.db /serve.db /.env /__proto__ /constructor'.split(
      ' ',
    ),
    ...[`/${'a'.repeat(8_000)}`, `/${'../'.repeat(2_600)}`, `/${'%2e%2e/'.repeat(1_100)}`],
    '//evil.example/api/v1/news',
  ];

  test('is what it is, letter for letter: 404 for every other', async () => {
    const abused = shared();
    for (const path of nowhere) {
      const answer = await abused.get(path);
      expect([path, answer.status, errorIn(abused, answer)]).toEqual([path, 404, 'not_found']);
      expect(answer.head).not.toMatch(/^(location|x-mirror)/im);
    }
    expect((await abused.get(NEWS)).status).toBe(200);
    expectNothingKept(abused);
  });

  test.each([
    ...String.raw`* api/v1/news ?limit=1 \api\v1\news /api\v1\news /\evil.example /api/v1/news\?limit=1`.split(
      ' ',
    ),
    ...'evil:80 ftp://x/api/v1/news http:// http:/api'.split(' '),
    ...['/api/v1/ne\0ws', '/api/v1/news\x7f', '/api/v1/n\xe9ws', '/api/v1/news x', '', '/api/v1/news\t'],
  ])('that is none is 400: %j', async (target) => {
    const abused = shared();
    const answer = await abused.get(target);
    expect([answer.status, errorIn(abused, answer)]).toEqual([400, 'bad_request']);
    expectNothingKept(abused);
  });

  test('too long is 414', async () => {
    const abused = shared();
    const answer = await abused.get(`${NEWS}?q=${'a'.repeat(8_200)}`);
    expect([answer.status, errorIn(abused, answer)]).toEqual([414, 'uri_too_long']);
  });

  test('with a host in front is not followed, wherever it leads', async () => {
    const abused = shared();
    for (const target of [
      `http://${abused.host}${NEWS}`,
      `https://${abused.host}${NEWS}`,
      `http://evil.example${NEWS}`,
    ]) {
      const answer = await abused.get(target);
      expect([target, answer.status, errorIn(abused, answer)]).toEqual([target, 400, 'bad_request']);
    }
  });
});

describe('a host', () => {
  const asked = async (hosts: readonly string[]) => {
    const abused = shared();
    const answer = await abused.get(NEWS, [...hosts, `Authorization: Bearer ${abused.key}`]);
    return { abused, answer };
  };

  test.each([
    ...'evil.example localhost.evil.example 127.1 2130706433 0x7f.1 localhost. 192.0.2.1'.split(' '),
    ...String.raw`user@localhost localhost/ localhost# localhost? localhost\ localhost: localhost:x`.split(
      ' ',
    ),
    ...'localhost:99999 localhost:80:80 [::1 ::1 %6cocalhost 127.0.0.1%00'.split(' '),
    ...['', ' ', 'localhost, evil.example'],
    ...['localhost evil', '\xe9', '0.0.0.0', '[::ffff:127.0.0.1]'],
  ])('that is not ours is 421: %j', async (host) => {
    const { abused, answer } = await asked([`Host: ${host}`]);
    expect([answer.status, errorIn(abused, answer)]).toEqual([421, 'misdirected_request']);
    expect(answer.head).toMatch(/^x-request-id: [0-9a-f-]{36}\r$/im);
    expectNothingKept(abused);
  });

  test.each([
    ['none', []],
    ['two', ['Host: localhost', 'Host: evil.example']],
    ['two that agree', ['Host: localhost', 'HOST: localhost']],
  ])('%s: 400', async (_, hosts) => {
    const { abused, answer } = await asked(hosts);
    expect([answer.status, errorIn(abused, answer)]).toEqual([400, 'bad_request']);
  });

  test('forged by what only proxies may say is believed of none', async () => {
    const forged = [
      'X-Forwarded-Host: localhost',
      'Forwarded: host=localhost',
      'X-Original-URL: /api/v1/news',
    ];
    const { abused, answer } = await asked(['Host: evil.example', ...forged]);
    expect([answer.status, errorIn(abused, answer)]).toEqual([421, 'misdirected_request']);
  });
});

describe('a method', () => {
  const others = ['OPTIONS', 'TRACE', 'PUT', 'POST', 'DELETE', 'PATCH', 'PROPFIND', 'QUERY', 'M-SEARCH'];

  test.each(others)('%s is 405, with a key and without, and echoes nothing', async (method) => {
    const abused = shared();
    for (const headers of [[], [`Authorization: Bearer ${abused.key}`]]) {
      const answer = await abused.send(`${method} ${NEWS} HTTP/1.1`, [
        `Host: ${abused.host}`,
        'X-Canary: 1',
        ...headers,
      ]);
      expect([answer.status, errorIn(abused, answer)]).toEqual([405, 'method_not_allowed']);
      expect(answer.head).toMatch(/^allow: GET, HEAD\r$/im);
      expect(answer.head + answer.body).not.toMatch(/canary|access-control/i);
    }
    expectNothingKept(abused);
  });

  test.each(['CONNECT evil.example:443', `CONNECT ${NEWS}`])('%s opens no tunnel: 405', async (line) => {
    const abused = shared();
    const answer = await abused.send(`${line} HTTP/1.1`, [`Host: ${abused.host}`]);
    expect([answer.status, errorIn(abused, answer)]).toEqual([405, 'method_not_allowed']);
  });

  test.each(['get', 'Get', 'FOO', 'GET/'])('%s is none: 400', async (method) => {
    const abused = shared();
    const answer = await abused.send(`${method} ${NEWS} HTTP/1.1`, [`Host: ${abused.host}`]);
    expect([answer.status, errorIn(abused, answer)]).toEqual([400, 'bad_request']);
  });

  test('other than it says, by a header or a parameter, it is not', async () => {
    const abused = shared();
    const known = [`Host: ${abused.host}`, `Authorization: Bearer ${abused.key}`];
    const answer = await abused.get(`${NEWS}?_method=DELETE`, [...known, 'X-HTTP-Method-Override: DELETE']);
    expect(answer.status).toBe(200);
  });
});
