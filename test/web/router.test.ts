/** Links within the page. */

import { expect, onTestFinished, test, vi } from 'vitest';

/** The router of a page at this address. */
async function routerAt(address: string) {
  const { pathname, search, hash } = new URL(address, 'http://mirror.example');
  vi.stubGlobal('location', { pathname, search, hash });
  vi.useFakeTimers({ now: Date.parse('2026-11-21T20:00:00Z') });
  vi.resetModules();
  onTestFinished(() => {
    vi.unstubAllGlobals();
    vi.unstubAllEnvs();
    vi.useRealTimers();
  });
  return await import('../../web/router.ts');
}

test('an answer as JSON is of the moment that it shows, whatever moment was chosen since', async () => {
  const [shown, chosen] = ['2026-11-20T12:00:00.000Z', '2026-11-21T12:00:00.000Z'];
  const { linkTo, linkToJson } = await routerAt(`/sql?at=${chosen}`);
  const query = { sql: 'SELECT 1', params: {} };
  const asOf = (at: string | null) => new URLSearchParams(linkToJson(query, at).split('?')[1]).get('asOf');
  expect(linkTo('/sql')).toBe(`/sql?at=${chosen}`);
  expect([asOf(shown), asOf(null)]).toEqual([shown, null]);
});

test.each([
  ['/?at=2026-11-21T12:30', '/?at=2026-11-21T12:30:00.000Z'],
  ['/?at=2026-11-21', '/?at=2026-11-21T00:00:00.000Z'],
  ['/?at=2026-11-21 12:30-05:00', '/?at=2026-11-21T17:30:00.000Z'],
  ['/?at=2h', '/?at=2026-11-21T18:00:00.000Z'],
  [
    '/changes?from=2026-11-20T23:30&to=1h',
    '/changes?from=2026-11-20T23:30:00.000Z&to=2026-11-21T19:00:00.000Z',
  ],
  ['/datasets/news?offset=50&at=2026-11-21', '/datasets/news?offset=50&at=2026-11-21T00:00:00.000Z'],
])('a time in an address is in UTC unless it says otherwise: %s', async (address, link) => {
  vi.stubEnv('TZ', 'America/New_York');
  const { linkHere } = await routerAt(address);
  expect(linkHere({})).toBe(link);
});
