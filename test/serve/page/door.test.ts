/** Who may see the page, what a browser is sent, and what other pages may ask: nothing. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cookieIn, DOCUMENT, SCRIPT, SCRIPT_NAME, setupPage, sharedPage } from './support.ts';

const openedPage = sharedPage({ walked: [] });

const PAGE_KEY = { scopes: ['page:read'] };
const QUESTION = { sql: 'SELECT 1', limit: 1 };
const DAY = 24 * 3_600_000;
const SCHEMA = '/page/schema';
/** Where another machine comes from, behind a proxy that is trusted. */
const trusting = { walked: [], settings: { trusted: ['127.0.0.1'] } };
const from = (address: string) => ({ 'x-forwarded-for': address });

describe('the document', () => {
  test('is at each address of the page, with a policy that lets it load only what comes from here', async () => {
    const { get } = await openedPage();
    for (const path of [
      '/',
      '/datasets/news',
      '/datasets/news/rows/an%20id%2Fwith%20a%20slash',
      '/walks/7',
      '/sql',
    ]) {
      const answer = await get(path);
      expect([path, answer.status, await answer.text()]).toEqual([path, 200, DOCUMENT]);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
        'cross-origin-opener-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-cache',
      });
      const again = await get(path, { 'if-none-match': answer.headers.get('etag') ?? '' });
      expect([again.status, await again.text()]).toEqual([304, '']);
    }
  });

  test('is nowhere else, and nothing but its scripts is beside it, which are kept for ever, compressed', async () => {
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
    for (const encoding of ['br', 'gzip']) {
      const answer = await get(`/assets/${SCRIPT_NAME}`, { 'accept-encoding': encoding });
      expect(await answer.text()).toBe(SCRIPT);
      expect(Number(answer.headers.get('content-length'))).toBeLessThan(SCRIPT.length / 10);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-encoding': encoding,
        'content-type': 'text/javascript; charset=utf-8',
        'cache-control': 'public, max-age=31536000, immutable',
      });
    }
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
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(answer.headers.get('set-cookie')).toMatch(
      new RegExp(`^${cookie}; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict$`),
    );
    const text = await answer.text();
    expect(text).toContain('<meta http-equiv="refresh" content="0; url=/">');
    expect(text).not.toContain('token');
  });

  test('a wrong token gets a page that says how to get another', async () => {
    const { url } = await openedPage();
    for (const token of ['', 'x', 'A'.repeat(43), "'; DROP TABLE page_tokens; --"]) {
      const answer = await fetch(`${url}/?token=${encodeURIComponent(token)}`);
      expect([answer.status, answer.headers.get('set-cookie')]).toEqual([401, null]);
      const text = await answer.text();
      expect(text).toContain('market-mirror keys page');
      expect(text).not.toContain('<script');
      expect(answer.headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
      );
    }
  });

  test('fifty sessions are opened, and then the oldest one ends; after a day none is; neither serve.db nor the log holds a token', async () => {
    const { bench, url, get, cookie, link, log, comeByLink } = await setupPage({ walked: [] });
    const path = link();
    const sees = async (cookie: string) => (await get(SCHEMA, { cookie })).status;
    const cookies: string[] = [];
    for (let opened = 0; opened < 51; opened += 1) {
      bench.clock.advance(1_000);
      cookies.push(await comeByLink(path));
    }
    const [first, second, last] = [cookies[0], cookies[1], cookies.at(-1)].map(String) as [
      string,
      string,
      string,
    ];
    expect([await sees(cookie), await sees(first), await sees(second)]).toEqual([401, 401, 200]);
    bench.clock.advance(DAY);
    expect((await fetch(`${url}${path}`)).status).toBe(401);
    expect(await sees(last)).toBe(200);
    bench.clock.advance(29 * DAY);
    expect(await sees(last), 'after a month').toBe(401);
    await get(path.replace('token=', 'token=x'));
    expect(log()).toContain('"route":"page"');
    const files = readdirSync(bench.dir).filter((name) => name.startsWith('serve.db'));
    const kept = [log(), ...files.map((name) => readFileSync(join(bench.dir, name), 'latin1'))].join();
    for (const secret of [path, last].map((text) => String(text.split('=')[1])))
      expect(kept).not.toContain(secret);
  });

  test('one from elsewhere opens nothing, nor does any where a proxy may pass on the calls of everybody', async () => {
    const { url, link, cookie } = await setupPage(trusting);
    const elsewhere = from('192.0.2.7');
    expect((await fetch(`${url}${link()}`, { headers: elsewhere })).status).toBe(401);
    expect((await fetch(`${url}${SCHEMA}`, { headers: { ...elsewhere, cookie } })).status).toBe(401);
    for (const settings of [{ trusted: ['127.0.0.1'] }, { hosts: ['mirror.example'] }]) {
      const page = await setupPage({ walked: [], settings });
      const answer = await fetch(`${page.url}${page.link()}`, { redirect: 'manual' });
      expect([answer.status, answer.headers.get('set-cookie')]).toEqual([401, null]);
      const cookie = await page.comeByKey(page.issue(PAGE_KEY).key);
      expect((await page.get(SCHEMA, { cookie })).status, 'by a key').toBe(200);
    }
  });
});

test('without one each address says how to get one, and tells nothing', async () => {
  const { url } = await openedPage();
  for (const path of ['/', '/sql', '/datasets/news']) {
    const answer = await fetch(`${url}${path}`);
    const said = expect.stringContaining('market-mirror keys page');
    expect([path, answer.status, await answer.text()]).toEqual([path, 401, said]);
  }
  for (const what of ['overview', 'schema', 'downloads/one?sql=SELECT']) {
    const answer = await fetch(`${url}/page/${what}`);
    expect([answer.status, await answer.json()]).toMatchObject([401, { failed: { kind: 'key' } }]);
  }
  for (const path of ['query', 'logout'])
    expect((await fetch(`${url}/page/${path}`, { method: 'POST' })).status).toBe(401);
  // A browser that comes from another page sends no cookie, and is sent on by a page of ours.
  const answer = await fetch(`${url}/sql?at=x`, { headers: { 'sec-fetch-site': 'cross-site' } });
  const refresh = expect.stringContaining('<meta http-equiv="refresh" content="0">');
  expect([answer.status, await answer.text()]).toEqual([200, refresh]);
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
  expect((await get(SCHEMA, { cookie })).status).toBe(401);
  expect((await get(SCHEMA, { cookie: other })).status).toBe(200);
});

describe('by a key', () => {
  test('the page opens from elsewhere, only from where the key may be used, until it is revoked', async () => {
    const { url, login, issue, revoke } = await setupPage(trusting);
    const elsewhere = { ...from('192.0.2.7'), 'x-forwarded-proto': 'https' };
    const { key, record } = issue({ ...PAGE_KEY, addresses: ['192.0.2.0/24'] });
    expect((await login(key, from('198.51.100.1'))).status).toBe(403);
    const answer = await login(key, elsewhere);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/']);
    expect(answer.headers.get('set-cookie')).toMatch(/^__Host-market_mirror_page_\d+=.*; Secure$/);
    const cookie = cookieIn(answer.headers);
    const visit = async (headers: Record<string, string>) =>
      (await fetch(`${url}${SCHEMA}`, { headers: { ...elsewhere, ...headers, cookie } })).status;
    expect([await visit({}), await visit(from('198.51.100.1'))]).toEqual([200, 401]);
    revoke(record.id);
    expect(await visit({})).toBe(401);
  });

  test('a key without the scope does not open it, nor does a wrong one or a session that is none, and who tries many is told to wait', async () => {
    const { get, login, issue, cookie } = await setupPage({ walked: [] });
    const answer = await login(issue().key);
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining('page:read')]);
    const wrong = await login('"><script>alert(1)</script>');
    expect([wrong.status, await wrong.text()]).toEqual([401, expect.not.stringContaining('<script')]);
    const guess = () => get(SCHEMA, { cookie: cookie.replace(/=.*/, `=${'x'.repeat(43)}`) });
    for (const attempt of [() => login('wrong'), guess]) {
      const statuses: number[] = [];
      for (let tries = 0; tries < 31 && !statuses.includes(429); tries += 1)
        for (const { status } of await Promise.all(Array.from({ length: 10 }, attempt)))
          statuses.push(status);
      expect([statuses[0], statuses.at(-1)]).toEqual([401, 429]);
    }
  });
});

describe('other pages', () => {
  test('may ask nothing', async () => {
    const { get, post, url } = await openedPage();
    for (const headers of [
      ...['cross-site', 'same-site'].map((site) => ({ 'sec-fetch-site': site })),
      ...['https://evil.example', 'null', 'http://127.0.0.1:1'].map((origin) => ({ origin })),
    ] as Record<string, string>[]) {
      const answers = [
        await get('/page/overview', headers),
        await post('/page/query', QUESTION, headers),
        await post('/page/logout', '', headers),
        await fetch(`${url}/page/login`, { method: 'POST', headers, body: 'key=x' }),
      ];
      expect([headers, ...answers.map(({ status }) => status)]).toEqual([headers, 403, 403, 403, 403]);
    }
  });

  test('ours may', async () => {
    const { get, post, url } = await openedPage();
    const headers = { origin: url, 'sec-fetch-site': 'same-origin' };
    expect((await get(SCHEMA, headers)).status).toBe(200);
    expect((await post('/page/query', QUESTION, headers)).status).toBe(200);
    const typed = { 'sec-fetch-site': 'none' };
    expect((await get(SCHEMA, typed)).status).toBe(200);
    expect((await post('/page/query', QUESTION, typed)).status).toBe(403);
  });
});

test('an open page is seen by everybody on this machine, not through a proxy, nor by other pages', async () => {
  const { url } = await setupPage({ walked: [], settings: { page: 'open' } });
  const statusOf = async (path: string, headers = {}) => (await fetch(`${url}${path}`, { headers })).status;
  expect([await statusOf('/'), await statusOf(SCHEMA)]).toEqual([200, 200]);
  expect(await statusOf(SCHEMA, { 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(await statusOf(SCHEMA, from('127.0.0.1'))).toBe(401);
});
