/** The lists: their shape, what offset and limit and filters leave of them, and what a page says about the rest. */

import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type Call, caller, serviceOf } from './calls.ts';
import { implementations } from './implementations.ts';
import { pageOf, rowsOf } from './pages.ts';
import { filters, type ListName, lanes, listNames, PagingParameters } from './specification.ts';

const standard = PagingParameters.parse({});

/** By the rule, of a list of so many rows: queries, and the rows that they leave, from one up to another. */
const windows: Record<string, (held: number) => [query: string, from: number, to: number][]> = {
  '“Zero-based row offset”, and so many “Rows per page”': (held) => [
    ['?offset=0&limit=1', 0, 1],
    ['?offset=7&limit=50', 7, 57],
    ['?offset=1&limit=100', 1, 101],
    [`?offset=${held - 4}&limit=4`, held - 4, held],
  ],
  '“Zero-based row offset”: no rows at the end and beyond it': (held) => [
    [`?offset=${held}`, held, held],
    [`?offset=${held + 1_000_000}`, held, held],
  ],
  '“Minimum 0, default 0”': () => [['?limit=3', 0, 3]],
  '“A negative value is normalized to 0”': () => [
    ['?offset=-1&limit=4', 0, 4],
    ['?offset=-1000000&limit=4', 0, 4],
  ],
  '“1 to 100, default 50”': () => [
    ['', 0, standard.limit],
    ['?offset=5', 5, 5 + standard.limit],
  ],
};

describe.each(implementations)('lists of %s', (_, start) => {
  const service = serviceOf(start);

  it.each(Object.entries(windows))('%s', async (_, windowsOf) => {
    const call = await caller(service());
    for (const name of listNames) {
      const held = service().rows[name];
      for (const [query, from, to] of windowsOf(held.length))
        expect(await rowsOf(service(), call, name, query), name + query).toEqual(held.slice(from, to));
    }
  });

  it('“Out-of-range values are normalized into 1-100”, to which of them is not shown', async () => {
    const call = await caller(service());
    for (const name of listNames)
      for (const limit of [0, -100, 101, 1_000_000]) {
        const rows = await rowsOf(service(), call, name, `?offset=1&limit=${limit}`);
        expect(PagingParameters.safeParse({ limit: rows.length })).toMatchObject({ success: true });
        expect(rows).toEqual(service().rows[name].slice(1, 1 + rows.length));
      }
  });

  it('AI signals: “X-Request-ID (string, UUID format, opaque, for troubleshooting)”', async () => {
    const call = await caller(service());
    const answers = [await call('ai-signals'), await call('ai-signals'), await call('ai-signals?offset=3')];
    const ids = answers.map(({ headers }) => headers['x-request-id']);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i);
    expect(new Set(ids).size, 'it names one request').toBe(ids.length);
  });

  describe.each(['ai-signals', 'meme-signals'] as const)('%s', (name) => {
    it('hasMore: “True when more rows exist beyond this page”', async () => {
      const call = await caller(service());
      const last = service().rows[name].length - 10;
      for (const [offset, hasMore] of [
        [0, true],
        [last - 1, true],
        [last, false],
        [last + 5, false],
        [last + 99, false],
      ]) {
        const { rows, pagination } = await pageOf(call, name, `?offset=${offset}&limit=10`);
        expect([offset, pagination]).toMatchObject([offset, { hasMore, returned: rows.length }]);
      }
    });

    it('“A client advances by adding returned to the current offset”, and so gets every row once', async () => {
      const call = await caller(service());
      const held = service().rows[name];
      const walked: unknown[] = [];
      for (let offset = 0; walked.length <= held.length; ) {
        const { rows, pagination } = await pageOf(call, name, `?offset=${offset}&limit=37`);
        walked.push(...rows);
        offset += pagination.returned;
        if (!pagination.hasMore || rows.length === 0) break;
      }
      expect(walked).toEqual(held);
    });
  });

  const expectSomeOfAll = async (call: Call, name: ListName, query: string) => {
    const rows = await rowsOf(service(), call, name, query);
    const all = service().rows[name];
    const places = rows.map((row) => all.findIndex((held) => isDeepStrictEqual(held, row)));
    expect([query, places]).toEqual([query, places.filter((place) => place >= 0)]);
    expect(new Set(places).size, query).toBe(places.length);
  };

  // How filters match is not shown.
  it('news: “the filters q, category, symbol, market, source, filter, kind” leave some of its rows', async () => {
    const call = await caller(service());
    for (const filter of filters.news)
      for (const value of ['crypto', 'no such thing', ''])
        await expectSomeOfAll(call, 'news', `?limit=20&${filter}=${encodeURIComponent(value)}`);
  });

  it('smart wallets: “Allowed values of lane: all, ready, hot, tracking, makers, whale”', async () => {
    const call = await caller(service());
    for (const lane of lanes)
      for (const more of ['', '&q=a'])
        await expectSomeOfAll(call, 'smart-wallets', `?limit=20&lane=${lane}${more}`);
  });

  it.each([
    ['AI signals: “No other filters”', 'ai-signals'],
    ['meme signals: “offset, limit only”', 'meme-signals'],
  ] as const)('%s: those of other lists do nothing, or are refused', async (_, name) => {
    const call = await caller(service());
    const expected = service().rows[name].slice(2, 5);
    for (const filter of new Set([...filters.news, ...filters['smart-wallets']])) {
      const query = `?offset=2&limit=3&${filter}=whale`;
      if ((await call(`${name}${query}`)).status !== 400)
        expect(await rowsOf(service(), call, name, query)).toEqual(expected);
    }
  });
});
