/** Links within the page. */

import { expect, onTestFinished, test, vi } from 'vitest';

test('an answer as JSON is of the moment that it shows, whatever moment was chosen since', async () => {
  const [shown, chosen] = ['2026-11-20T12:00:00.000Z', '2026-11-21T12:00:00.000Z'];
  onTestFinished(() => void vi.unstubAllGlobals());
  vi.stubGlobal('location', { pathname: '/sql', search: `?at=${chosen}`, hash: '' });
  const { linkTo, linkToJson } = await import('../../web/router.ts');
  const query = { sql: 'SELECT 1', params: {} };
  const asOf = (at: string | null) => new URLSearchParams(linkToJson(query, at).split('?')[1]).get('asOf');
  expect(linkTo('/sql')).toBe(`/sql?at=${chosen}`);
  expect([asOf(shown), asOf(null)]).toEqual([shown, null]);
});
