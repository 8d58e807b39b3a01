import { describe, expect, test } from 'vitest';
import { cookieIn, DOCUMENT, setupPage, sharedPage } from './support.ts';

const openedPage = sharedPage({ walked: [] });

const PAGE_KEY = { scopes: ['page:read'] };

describe('by a link', () => {
  test('a browser gets a cookie that no script reads and no other page sends, and is sent on without the token', async () => {
    const { url, link } = await openedPage();
    const answer = await fetch(`${url}${link()}`);
    const { port } = new URL(url);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('set-cookie')).toMatch(
      new RegExp(
        `^market_mirror_page_${port}=[\\w-]{43}; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict$`,
      ),
    );
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const text = await answer.text();
    expect(text).toContain('<meta http-equiv="refresh" content="0; url=/">');
    expect(text).not.toContain('token');
  });

  test('the page can be seen from then on', async () => {
    const { url, comeByLink } = await openedPage();
    const cookie = await comeByLink();
    const seen = await fetch(url, { headers: { cookie } });
    expect([seen.status, await seen.text()]).toEqual([200, DOCUMENT]);
    expect((await fetch(`${url}/page/overview`, { headers: { cookie } })).status).toBe(200);
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

  test('a link opens fifty sessions, and then the oldest one ends', async () => {
    const { bench, get, cookie, link, comeByLink } = await setupPage({ walked: [] });
    const path = link();
    const sees = async (cookie: string) => (await get('/page/schema', { cookie })).status;
    const cookies = [];
    for (let opened = 0; opened < 50; opened += 1) {
      bench.clock.advance(1_000);
      cookies.push(await comeByLink(path));
    }
    expect([await sees(cookie), await sees(String(cookies[0]))]).toEqual([401, 200]);
    bench.clock.advance(1_000);
    cookies.push(await comeByLink(path));
    expect([await sees(String(cookies[0])), await sees(String(cookies.at(-1)))]).toEqual([401, 200]);
  });

  test('an old one as well', async () => {
    const { bench, url, link } = await setupPage({ walked: [] });
    const old = link();
    bench.clock.advance(24 * 3_600_000);
    expect((await fetch(`${url}${old}`)).status).toBe(401);
  });

  test('a session ends, and serve.db holds no token', async () => {
    const { bench, get, cookie } = await setupPage({ walked: [] });
    expect((await get('/page/schema')).status).toBe(200);
    bench.clock.advance(30 * 24 * 3_600_000);
    expect((await get('/page/schema')).status).toBe(401);
    const { readFileSync, readdirSync } = await import('node:fs');
    const kept = readdirSync(bench.dir).filter((name) => name.startsWith('serve.db'));
    const token = cookie.split('=')[1] as string;
    for (const name of kept) expect(readFileSync(`${bench.dir}/${name}`).includes(token)).toBe(false);
  });

  test('one from elsewhere opens nothing', async () => {
    const { url, link, cookie } = await setupPage({ walked: [], settings: { trusted: ['127.0.0.1'] } });
    const elsewhere = { 'x-forwarded-for': '192.0.2.7' };
    expect((await fetch(`${url}${link()}`, { headers: elsewhere })).status).toBe(401);
    expect((await fetch(`${url}/page/schema`, { headers: { ...elsewhere, cookie } })).status).toBe(401);
  });
});

describe('signing out', () => {
  test('ends the session in serve.db, and takes its cookie away', async () => {
    const { url, cookie, get, post, comeByLink } = await setupPage({ walked: [] });
    const other = await comeByLink();
    const answer = await post('/page/logout', '');
    const { port } = new URL(url);
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([
      204,
      `market_mirror_page_${port}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict`,
    ]);
    // RFC 9110, 8.6.
    expect(answer.headers.has('content-length')).toBe(false);
    expect((await get('/page/overview', { cookie })).status).toBe(401);
    expect((await fetch(url, { headers: { cookie } })).status).toBe(401);
    // Another browser has a session of its own.
    expect((await get('/page/overview', { cookie: other })).status).toBe(200);
  });

  test('no other page can do it, and none by a mere link', async () => {
    const { get, post } = await openedPage();
    expect((await post('/page/logout', '', { origin: 'http://evil.example' })).status).toBe(403);
    expect((await post('/page/logout', '', { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await get('/page/logout')).status).toBe(405);
    expect((await get('/page/overview')).status).toBe(200);
  });

  test('is for those who are in', async () => {
    const { url } = await openedPage();
    expect((await fetch(`${url}/page/logout`, { method: 'POST' })).status).toBe(401);
  });
});

describe('without one', () => {
  test.each(['/', '/sql', '/datasets/news'])('%s says how to get one', async (path) => {
    const { url } = await openedPage();
    const answer = await fetch(`${url}${path}`);
    expect(answer.status).toBe(401);
    expect(await answer.text()).toContain('market-mirror keys page');
  });

  test.each(['overview', 'schema', 'events'])('nothing is told at /page/%s', async (what) => {
    const { url } = await openedPage();
    const answer = await fetch(`${url}/page/${what}`);
    expect([answer.status, await answer.json()]).toMatchObject([401, { failed: { kind: 'key' } }]);
  });

  test('no question is asked', async () => {
    const { url } = await openedPage();
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ sql: 'SELECT 1', limit: 1 });
    expect((await fetch(`${url}/page/query`, { method: 'POST', headers, body })).status).toBe(401);
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

describe('by a key', () => {
  test('the page opens from elsewhere, until the key is revoked', async () => {
    const { url, login, issue, revoke } = await setupPage({
      walked: [],
      settings: { trusted: ['127.0.0.1'] },
    });
    const elsewhere = { 'x-forwarded-for': '192.0.2.7', 'x-forwarded-proto': 'https' };
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
    const { url, login, issue } = await setupPage({ walked: [], settings: { trusted: ['127.0.0.1'] } });
    const { key } = issue({ ...PAGE_KEY, addresses: ['192.0.2.0/24'] });
    expect((await login(key, { 'x-forwarded-for': '198.51.100.1' })).status).toBe(403);
    const { headers, status } = await login(key, { 'x-forwarded-for': '192.0.2.7' });
    expect(status).toBe(303);
    const stolen = { 'x-forwarded-for': '198.51.100.1', cookie: cookieIn(headers) };
    expect((await fetch(`${url}/page/schema`, { headers: stolen })).status).toBe(401);
  });

  test('a key without the scope does not open it, nor does a wrong one', async () => {
    const { login, issue } = await openedPage();
    const answer = await login(issue().key);
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining('page:read')]);
    const wrong = await login('"><script>alert(1)</script>');
    expect([wrong.status, await wrong.text()]).toEqual([401, expect.not.stringContaining('<script')]);
  });

  test('who tries many is told to wait', async () => {
    const { login } = await setupPage({ walked: [] });
    const statuses: number[] = [];
    for (let tries = 0; tries < 310; tries += 1) statuses.push((await login('wrong')).status);
    expect([statuses.at(0), statuses.at(-1)]).toEqual([401, 429]);
  });
});

describe('other pages', () => {
  test.each([
    [{ 'sec-fetch-site': 'cross-site' }],
    [{ 'sec-fetch-site': 'same-site' }],
    [{ origin: 'https://evil.example' }],
    [{ origin: 'null' }],
    [{ origin: 'http://127.0.0.1:1' }],
  ] as Record<string, string>[][])('may ask nothing: %j', async (headers) => {
    const { get, post, url } = await openedPage();
    expect((await get('/page/overview', headers)).status).toBe(403);
    expect((await post('/page/query', { sql: 'SELECT 1', limit: 1 }, headers)).status).toBe(403);
    expect((await fetch(`${url}/page/login`, { method: 'POST', headers, body: 'key=x' })).status).toBe(403);
  });

  test('ours may', async () => {
    const { get, post, url } = await openedPage();
    const headers = { origin: url, 'sec-fetch-site': 'same-origin' };
    expect((await get('/page/schema', headers)).status).toBe(200);
    expect((await post('/page/query', { sql: 'SELECT 1', limit: 1 }, headers)).status).toBe(200);
    expect((await get('/page/schema', { 'sec-fetch-site': 'none' })).status).toBe(200);
    const typed = { 'sec-fetch-site': 'none' };
    expect((await post('/page/query', { sql: 'SELECT 1', limit: 1 }, typed)).status).toBe(403);
  });

  test('a host that is not ours gets nothing', async () => {
    const { url, cookie } = await openedPage();
    const { getter } = await import('../client.ts');
    for (const path of ['/', '/page/schema'])
      expect(await getter(url)(path, { host: 'evil.example', cookie })).toMatchObject({ status: 421 });
  });
});

describe('open', () => {
  test('everybody on this machine sees it', async () => {
    const { url } = await setupPage({ walked: [], settings: { page: 'open' } });
    expect((await fetch(url)).status).toBe(200);
    expect((await fetch(`${url}/page/schema`)).status).toBe(200);
    expect((await fetch(`${url}/page/schema`, { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(
      403,
    );
  });

  test('who comes through a proxy does not', async () => {
    const { url } = await setupPage({ walked: [], settings: { page: 'open' } });
    const headers = { 'x-forwarded-for': '127.0.0.1' };
    expect((await fetch(`${url}/page/schema`, { headers })).status).toBe(401);
  });
});

test('nothing of a token is in the log', async () => {
  const { get, link, log, cookie, comeByLink } = await openedPage();
  const path = link();
  await comeByLink(path);
  await get('/page/schema');
  await get(path.replace('token=', 'token=x'));
  const [, token = ''] = path.split('=');
  const [, session = ''] = cookie.split('=');
  expect(log()).toContain('"route":"page"');
  for (const secret of [token, session]) expect(log()).not.toContain(secret);
});
