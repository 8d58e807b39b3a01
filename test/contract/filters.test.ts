/** Filters. The specification shows their names and the values of lane; how they match is not shown. */

import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type Call, caller, serviceOf } from './calls.ts';
import { implementations } from './implementations.ts';
import { rowsOf } from './pages.ts';
import { filters, type ListName, lanes } from './specification.ts';

describe.each(implementations)('filters of %s', (_, start) => {
  const service = serviceOf(start);

  const expectSomeOfAll = async (call: Call, name: ListName, query: string) => {
    const rows = await rowsOf(service(), call, name, query);
    const all = service().rows[name];
    const places = rows.map((row) => all.findIndex((held) => isDeepStrictEqual(held, row)));
    expect([query, places]).toEqual([query, places.filter((place) => place >= 0)]);
    expect(new Set(places).size, query).toBe(places.length);
  };

  it('news: “the filters q, category, symbol, market, source, filter, kind” leave some of its rows', async () => {
    const call = await caller(service());
    for (const filter of filters.news)
      for (const value of ['gold', 'crypto', 'no such thing', ''])
        await expectSomeOfAll(call, 'news', `?limit=100&${filter}=${encodeURIComponent(value)}`);
  });

  it('smart wallets: “q (search text)” leaves some of its rows', async () => {
    const call = await caller(service());
    for (const text of ['whale', 'two words', '"', '%', '*', "' OR 1", ''])
      await expectSomeOfAll(call, 'smart-wallets', `?limit=100&q=${encodeURIComponent(text)}`);
  });

  it('smart wallets: “Allowed values of lane: all, ready, hot, tracking, makers, whale”', async () => {
    const call = await caller(service());
    for (const lane of lanes) {
      await expectSomeOfAll(call, 'smart-wallets', `?limit=100&lane=${lane}`);
      await expectSomeOfAll(call, 'smart-wallets', `?limit=100&lane=${lane}&q=a`);
    }
  });

  it.each([
    ['AI signals: “No other filters”', 'ai-signals'],
    ['meme signals: “offset, limit only”', 'meme-signals'],
  ] as const)('%s: those of other lists do nothing', async (_, name) => {
    const call = await caller(service());
    const expected = service().rows[name].slice(2, 5);
    for (const filter of new Set([...filters.news, ...filters['smart-wallets']]))
      expect(await rowsOf(service(), call, name, `?offset=2&limit=3&${filter}=whale`)).toEqual(expected);
  });
});
