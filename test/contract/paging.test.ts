/** What offset and limit ask for, and what a page says about the rest. */

import { describe, expect, it } from 'vitest';
import { caller, serviceOf } from './calls.ts';
import { implementations } from './implementations.ts';
import { pageOf, rowsOf } from './pages.ts';
import { listNames, PagingParameters } from './specification.ts';

describe.each(implementations)('paging at %s', (_, start) => {
  const service = serviceOf(start);

  describe.each(listNames)('of %s', (name) => {
    const held = () => service().rows[name];
    const reader = async () => {
      const call = await caller(service());
      return (query: string) => rowsOf(service(), call, name, query);
    };

    it('“Zero-based row offset”, and so many “Rows per page”', async () => {
      const read = await reader();
      const windows: [number, number][] = [
        [0, 1],
        [1, 3],
        [7, 50],
        [1, 100],
        [held().length - 4, 4],
      ];
      for (const [offset, limit] of windows)
        expect(await read(`?offset=${offset}&limit=${limit}`)).toEqual(held().slice(offset, offset + limit));
    });

    it('“Minimum 0, default 0”', async () => {
      const read = await reader();
      expect(await read('?limit=3')).toEqual(held().slice(0, 3));
    });

    it('“1 to 100, default 50”', async () => {
      const read = await reader();
      const { limit } = PagingParameters.parse({});
      expect(await read('')).toEqual(held().slice(0, limit));
      expect(await read('?offset=5')).toEqual(held().slice(5, 5 + limit));
    });

    it('“A negative value is normalized to 0”', async () => {
      const read = await reader();
      for (const offset of [-1, -50, -1_000_000])
        expect(await read(`?offset=${offset}&limit=4`)).toEqual(held().slice(0, 4));
    });

    it('“Out-of-range values are normalized into 1-100”, to which of them is not shown', async () => {
      const read = await reader();
      for (const limit of [0, -1, -100, 101, 1_000_000]) {
        const rows = await read(`?offset=1&limit=${limit}`);
        expect(PagingParameters.safeParse({ limit: rows.length })).toMatchObject({ success: true });
        expect(rows).toEqual(held().slice(1, 1 + rows.length));
      }
    });

    it('“Zero-based row offset”: no rows at the end and beyond it', async () => {
      const read = await reader();
      for (const beyond of [0, 1, 1_000_000])
        expect(await read(`?offset=${held().length + beyond}`)).toEqual([]);
    });
  });

  it('AI signals tell the window of the page, and the “number of rows in this page”', async () => {
    const call = await caller(service());
    const total = service().rows['ai-signals'].length;
    for (const [query, window] of [
      ['', PagingParameters.parse({})],
      ['?offset=-3&limit=7', { offset: 0, limit: 7, returned: 7 }],
      [`?offset=${total - 3}&limit=7`, { offset: total - 3, limit: 7, returned: 3 }],
      [`?offset=${total + 9}&limit=7`, { offset: total + 9, limit: 7, returned: 0 }],
    ] as const) {
      const { rows, pagination } = await pageOf(call, 'ai-signals', query);
      expect(pagination).toMatchObject({ ...window, total, returned: rows.length });
    }
  });

  describe.each(['ai-signals', 'meme-signals'] as const)('of %s', (name) => {
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
});
