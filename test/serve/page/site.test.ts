import { describe, expect, test } from 'vitest';
import { DOCUMENT, SCRIPT, SCRIPT_NAME, setupPage, sharedPage } from './support.ts';

const openedPage = sharedPage({ walked: [] });

describe('the document', () => {
  test.each([
    '/',
    '/datasets/news',
    '/datasets/news/rows/an%20id%2Fwith%20a%20slash',
    '/walks',
    '/walks/7',
    '/calls',
    '/problems',
    '/sql',
  ])('is at %s, with a policy that lets it load only what comes from here', async (path) => {
    const { get } = await openedPage();
    const answer = await get(path);
    expect([answer.status, await answer.text()]).toEqual([200, DOCUMENT]);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    );
    expect(answer.headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('is asked for anew each time, and sent only when it has changed', async () => {
    const { get } = await openedPage();
    const { headers } = await get('/');
    expect(headers.get('cache-control')).toBe('no-cache');
    const again = await get('/sql', { 'if-none-match': headers.get('etag') ?? '' });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });

  test.each([
    '/datasets',
    '/datasets/news/',
    '/datasets/news/rows',
    '/walks/1/2',
    '/index.html',
    '/page',
    '/assets/',
  ])('is not at %s', async (path) => {
    const { get } = await openedPage();
    expect((await get(path)).status).toBe(404);
  });

  test('takes no other method', async () => {
    const { post } = await openedPage();
    const { status, headers } = await post('/', {});
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

describe('what it loads', () => {
  test('is kept for ever, compressed', async () => {
    const { get } = await openedPage();
    for (const encoding of ['br', 'gzip']) {
      const answer = await get(`/assets/${SCRIPT_NAME}`, { 'accept-encoding': encoding });
      expect(answer.headers.get('content-encoding')).toBe(encoding);
      expect(Number(answer.headers.get('content-length'))).toBeLessThan(SCRIPT.length / 10);
      expect(await answer.text()).toBe(SCRIPT);
      expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
      expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    }
  });

  test.each(['nothing.js', '..%2Findex.html', 'index.html', '%2e%2e%2findex.html', '%00', '__proto__'])(
    'is nothing else: %s',
    async (name) => {
      const { get } = await openedPage();
      expect((await get(`/assets/${name}`)).status).toBe(404);
    },
  );
});

test('without a page there is nothing of it', async () => {
  const { get } = await setupPage({ walked: [], settings: { page: 'off' } });
  for (const path of ['/', '/sql', '/page/overview', `/assets/${SCRIPT_NAME}`])
    expect([path, (await get(path)).status]).toEqual([path, 404]);
});
