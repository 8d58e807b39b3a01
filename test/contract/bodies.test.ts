/** What each of the five endpoints answers where it is used as it should be. */

import { describe, expect, it } from 'vitest';
import { caller, serviceOf } from './calls.ts';
import { implementations } from './implementations.ts';
import { pageOf, rowsOf } from './pages.ts';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

describe.each(implementations)('bodies of %s', (_, start) => {
  const service = serviceOf(start);

  it('AI signals: “body is AiSignalPage”, on every page', async () => {
    const call = await caller(service());
    const held = service().rows['ai-signals'];
    for (let offset = 0; offset < held.length; offset += 100) {
      const { rows } = await pageOf(call, 'ai-signals', `?limit=100&offset=${offset}`);
      expect(rows, 'as it holds them: they are “already-published”').toEqual(
        held.slice(offset, offset + 100),
      );
    }
  });

  it('AI signals: “X-Request-ID (string, UUID format, opaque, for troubleshooting)”', async () => {
    const call = await caller(service());
    const answers = [await call('ai-signals'), await call('ai-signals'), await call('ai-signals?offset=3')];
    const ids = answers.map(({ headers }) => headers['x-request-id']);
    for (const id of ids) expect(id).toMatch(uuid);
    expect(new Set(ids).size, 'it names one request').toBe(ids.length);
  });

  it('news: “read the published news dataset”', async () => {
    const call = await caller(service());
    expect(await rowsOf(service(), call, 'news', '')).toEqual(service().rows.news.slice(0, 50));
  });

  it('smart wallets: “The response carries a rows array”', async () => {
    const { rows } = await pageOf(await caller(service()), 'smart-wallets', '');
    expect(rows).toEqual(service().rows['smart-wallets'].slice(0, 50));
  });

  it('meme signals: “The response carries a rows array and a pagination object with hasMore and returned”', async () => {
    const { rows, pagination } = await pageOf(await caller(service()), 'meme-signals', '');
    expect(rows).toEqual(service().rows['meme-signals'].slice(0, 50));
    expect(pagination).toMatchObject({ hasMore: true, returned: 50 });
  });

  it('usage: “read account-level API usage”, in a shape that is not shown', async () => {
    const call = await caller(service());
    expect(await call('usage')).toMatchObject({ status: 200 });
  });
});
