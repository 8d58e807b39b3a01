/** Who may see the page, what a browser is sent, and what other pages may ask: nothing. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { getter } from '../client.ts';
import { cookieIn, DOCUMENT, SCRIPT, SCRIPT_NAME, setupPage, sharedPage } from './support.ts';

const openedPage = sharedPage({ walked: [] });

const PAGE_KEY = { scopes: ['page:read'] };
const QUESTION = { sql: 'SELECT 1', limit: 1 };
const DAY = 24 * 3_600_000;
/** Where another machine comes from, behind a proxy that is trusted. */
const trusting = { walked: [], settings: { trusted: ['127.0.0.1'] } };
const from = (address: string) => ({ 'x-forwarded-for': address });

describe('the document', () => {
  test.each([
    ...['/', '/datasets/news', '/datasets/news/rows/an%20id%2Fwith%20a%20slash', '/walks', '/walks/7'],
    ...['/calls', '/problems', '/sql'],
  ])('is at %s, with a policy that lets it load only what comes from here', async (path) => {
    const answer = await (await openedPage()).get(path);
    expect([answer.status, await answer.text()]).toEqual([200, DOCUMENT]);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
      'cross-origin-opener-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-cache',
    });
    const again = await (await openedPage()).get('/sql', {
      'if-none-match': answer.headers.get('etag') ?? '',
    });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });

  test('is nowhere else, and nothing but its scripts is beside it', async () => {
    const { get, post } = await openedPage();
    const assets = [
      'nothing.js',
      '..%2Findex.html',
      'index.html',
      '%2e%2e%2findex.html',
      '%00',
      '__proto__',
      '',
    ];
    for (const path of [
      ...['/datasets', '/datasets/news/', '/datasets/news/rows', '/walks/1/2', '/index.html', '/page'],
      ...assets.map((name) => `/assets/${name}`),
    ])
      expect([path, (await get(path)).status]).toEqual([path, 404]);
    const { status, headers } = await post('/', {});
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  test.each(['br', 'gzip'])('loads what is kept for ever, compressed: %s', async (encoding) => {
    const answer = await (await openedPage()).get(`/assets/${SCRIPT_NAME}`, { 'accept-encoding': encoding });
    expect(await answer.text()).toBe(SCRIPT);
    expect(Number(answer.headers.get('content-length'))).toBeLessThan(SCRIPT.length / 10);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-encoding': encoding,
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    });
  });

  test('is not there without the setting, nor is anything of it', async () => {
    const { get } = await setupPage({ walked: [], settings: { page: 'off' } });
    for (const path of ['/', '/sql', '/page/overview', `/assets/${SCRIPT_NAME}`])
      expect([path, (await get(path)).status]).toEqual([path, 404]);
  });
});

describe('by a link', () => {
  test('a browser gets a cookie that no script reads and no other page sends, and is sent on without the token', async () => {
    const { url, link } = await openedPage();
    const answer = await fetch(`${url}${link()}`);
    const cookie = `market_mirror_page_${new URL(url).port}=[\\w-]{43}`;
    expect(answer.status).toBe(200);
    expect(answer.headers.get('set-cookie')).toMatch(
      new RegExp(`^${cookie}; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict$`),
    );
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const text = await answer.text();
    expect(text).toContain('<meta http-equiv="refresh" content="0; url=/">');
    expect(text).not.toContain('token');
  });

  test.each(['', 'x', 'A'.repeat(43), "'; DROP TABLE page_tokens; --"])(
    'a wrong token gets a page that says how to get another: %j',
    async (token) => {
      const { url } = await openedPage();
      const answer = await fetch(`${url}/?token=${encodeURIComponent(token)}`);
      expect([answer.status, answer.headers.get('set-cookie')]).toEqual([401, null]);
      const text = await answer.text();
      expect(text).toContain('market-mirror keys page');
      expect(text).not.toContain('<script');
      expect(answer.headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
      );
    },
  );

  test('fifty sessions are opened, and then the oldest one ends; after a day none is', async () => {
    const { bench, url, get, cookie, link, comeByLink } = await setupPage({ walked: [] });
    const path = link();
    const sees = async (cookie: string) => (await get('/page/schema', { cookie })).status;
    const cookies: string[] = [];
    const comeLater = async () => {
      bench.clock.advance(1_000);
      cookies.push(await comeByLink(path));
    };
    for (let opened = 0; opened < 50; opened += 1) await comeLater();
    expect([await sees(cookie), await sees(String(cookies[0]))]).toEqual([401, 200]);
    await comeLater();
    expect([await sees(String(cookies[0])), await sees(String(cookies.at(-1)))]).toEqual([401, 200]);
    bench.clock.advance(DAY);
    expect((await fetch(`${url}${path}`)).status).toBe(401);
  });

  test('a session ends after a month, and neither serve.db nor the log holds a token of it', async () => {
    const { bench, get, link, log, cookie, comeByLink } = await setupPage({ walked: [] });
    const path = link();
    await comeByLink(path);
    await get(path.replace('token=', 'token=x'));
    expect((await get('/page/schema')).status).toBe(200);
    bench.clock.advance(30 * DAY);
    expect((await get('/page/schema')).status).toBe(401);
    expect(log()).toContain('"route":"page"');
    const files = readdirSync(bench.dir).filter((name) => name.startsWith('serve.db'));
    const kept = [log(), ...files.map((name) => readFileSync(join(bench.dir, name), 'latin1'))].join();
    for (const secret of [path, cookie].map((text) => String(text.split('=')[1])))
      expect(kept).not.toContain(secret);
  });

  test('one from elsewhere opens nothing', async () => {
    const { url, link, cookie } = await setupPage(trusting);
    const elsewhere = from('192.0.2.7');
    expect((await fetch(`${url}${link()}`, { headers: elsewhere })).status).toBe(401);
    expect((await fetch(`${url}/page/schema`, { headers: { ...elsewhere, cookie } })).status).toBe(401);
  });
});

describe('without one', () => {
  test('each address says how to get one, and tells nothing', async () => {
    const { url } = await openedPage();
    for (const path of ['/', '/sql', '/datasets/news']) {
      const answer = await fetch(`${url}${path}`);
      expect([path, answer.status, await answer.text()]).toEqual([
        ...[path, 401],
        expect.stringContaining('market-mirror keys page'),
      ]);
    }
    for (const what of ['overview', 'schema', 'downloads/one?sql=SELECT']) {
      const answer = await fetch(`${url}/page/${what}`);
      expect([what, answer.status, await answer.json()]).toMatchObject([
        what,
        401,
        { failed: { kind: 'key' } },
      ]);
    }
    for (const path of ['query', 'logout'])
      expect((await fetch(`${url}/page/${path}`, { method: 'POST' })).status).toBe(401);
  });

  test('a browser that comes from another page, and so sends no cookie, is sent on by a page of ours', async () => {
    const { url } = await openedPage();
    const answer = await fetch(`${url}/sql?at=x`, { headers: { 'sec-fetch-site': 'cross-site' } });
    expect([answer.status, await answer.text()]).toEqual([
      200,
      expect.stringContaining('<meta http-equiv="refresh" content="0">'),
    ]);
  });
});

test('signing out ends the session in serve.db, takes its cookie away, and leaves those of other browsers', async () => {
  const { url, cookie, get, post, comeByLink } = await setupPage({ walked: [] });
  const other = await comeByLink();
  expect((await get('/page/logout')).status, 'not by a mere link').toBe(405);
  const answer = await post('/page/logout', '');
  expect([answer.status, answer.headers.get('set-cookie')]).toEqual([
    204,
    `market_mirror_page_${new URL(url).port}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict`,
  ]);
  // RFC 9110, 8.6.
  expect(answer.headers.has('content-length')).toBe(false);
  expect((await get('/page/overview', { cookie })).status).toBe(401);
  expect((await fetch(url, { headers: { cookie } })).status).toBe(401);
  expect((await get('/page/overview', { cookie: other })).status).toBe(200);
});

describe('by a key', () => {
  test('the page opens from elsewhere, until the key is revoked', async () => {
    const { url, login, issue, revoke } = await setupPage(trusting);
    const elsewhere = { ...from('192.0.2.7'), 'x-forwarded-proto': 'https' };
    const { key, record } = issue(PAGE_KEY);
    const answer = await login(key, elsewhere);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/']);
    expect(answer.headers.get('set-cookie')).toMatch(/^__Host-market_mirror_page_\d+=.*; Secure$/);
    const visit = () =>
      fetch(`${url}/page/schema`, { headers: { ...elsewhere, cookie: cookieIn(answer.headers) } });
    expect((await visit()).status).toBe(200);
    revoke(record.id);
    expect((await visit()).status).toBe(401);
  });

  test('only from where the key may be used', async () => {
    const { url, login, issue } = await setupPage(trusting);
    const { key } = issue({ ...PAGE_KEY, addresses: ['192.0.2.0/24'] });
    expect((await login(key, from('198.51.100.1'))).status).toBe(403);
    const { headers, status } = await login(key, from('192.0.2.7'));
    expect(status).toBe(303);
    const stolen = { ...from('198.51.100.1'), cookie: cookieIn(headers) };
    expect((await fetch(`${url}/page/schema`, { headers: stolen })).status).toBe(401);
  });

  test('a key without the scope does not open it, nor does a wrong one, and who tries many is told to wait', async () => {
    const { login, issue } = await setupPage({ walked: [] });
    const answer = await login(issue().key);
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining('page:read')]);
    const wrong = await login('"><script>alert(1)</script>');
    expect([wrong.status, await wrong.text()]).toEqual([401, expect.not.stringContaining('<script')]);
    let status = 401;
    for (let tries = 0; tries < 310 && status === 401; tries += 1) ({ status } = await login('wrong'));
    expect(status).toBe(429);
  });

  test('nor does a session that is none, and who tries many is told to wait', async () => {
    const { get, cookie } = await setupPage({ walked: [] });
    const guess = () => get('/page/schema', { cookie: cookie.replace(/=.*/, `=${'x'.repeat(43)}`) });
    let status = 401;
    for (let tries = 0; tries < 310 && status === 401; tries += 1) ({ status } = await guess());
    expect(status).toBe(429);
  });
});

test.each([{ trusted: ['127.0.0.1'] }, { hosts: ['mirror.example'] }])(
  'a link, and a session by one, open nothing where a proxy may pass on the calls of everybody: %j',
  async (settings) => {
    const here = await setupPage({ walked: [] });
    expect((await here.get('/page/schema')).status).toBe(200);
    const { get, link, url, comeByKey, issue } = await setupPage({ walked: [], settings });
    const answer = await fetch(`${url}${link()}`, { redirect: 'manual' });
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([401, null]);
    const cookie = await comeByKey(issue(PAGE_KEY).key);
    expect((await get('/page/schema', { cookie })).status, 'by a key').toBe(200);
  },
);

describe('other pages', () => {
  test.each([
    [{ 'sec-fetch-site': 'cross-site' }],
    [{ 'sec-fetch-site': 'same-site' }],
    [{ origin: 'https://evil.example' }],
    [{ origin: 'null' }],
    [{ origin: 'http://127.0.0.1:1' }],
  ] as Record<string, string>[][])('may ask nothing: %j', async (headers) => {
    const { get, post, url } = await openedPage();
    const answers = [
      await get('/page/overview', headers),
      await post('/page/query', QUESTION, headers),
      await post('/page/logout', '', headers),
      await fetch(`${url}/page/login`, { method: 'POST', headers, body: 'key=x' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect((await get('/page/overview')).status, 'of ours').toBe(200);
  });

  test('ours may', async () => {
    const { get, post, url } = await openedPage();
    const headers = { origin: url, 'sec-fetch-site': 'same-origin' };
    expect((await get('/page/schema', headers)).status).toBe(200);
    expect((await post('/page/query', QUESTION, headers)).status).toBe(200);
    const typed = { 'sec-fetch-site': 'none' };
    expect((await get('/page/schema', typed)).status).toBe(200);
    expect((await post('/page/query', QUESTION, typed)).status).toBe(403);
  });

  test('get nothing at a host that is not ours', async () => {
    const { url, cookie } = await openedPage();
    for (const path of ['/', '/page/schema'])
      expect(await getter(url)(path, { host: 'evil.example', cookie })).toMatchObject({ status: 421 });
  });
});

test('an open page is seen by everybody on this machine, not through a proxy, nor by other pages', async () => {
  const { url } = await setupPage({ walked: [], settings: { page: 'open' } });
  const statusOf = async (path: string, headers = {}) => (await fetch(`${url}${path}`, { headers })).status;
  expect([await statusOf('/'), await statusOf('/page/schema')]).toEqual([200, 200]);
  expect(await statusOf('/page/schema', { 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(await statusOf('/page/schema', from('127.0.0.1'))).toBe(401);
});
