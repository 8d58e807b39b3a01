/** Pages of a list, as far as the specification shows their shape. */

import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { z } from 'zod';
import type { Call } from './calls.ts';
import type { Service } from './implementation.ts';
import { AiSignalPage, type ListName, StandardPagination } from './specification.ts';

const { returned, hasMore } = StandardPagination.shape;

const pageShapes = {
  // “body is AiSignalPage”
  'ai-signals': AiSignalPage,
  // “read the published news dataset”
  news: z.unknown(),
  // “The response carries a rows array”
  'smart-wallets': z.looseObject({ rows: z.array(z.unknown()) }),
  // “The response carries a rows array and a pagination object with hasMore and returned”
  'meme-signals': z.looseObject({
    rows: z.array(z.unknown()),
    pagination: z.looseObject({ returned, hasMore }),
  }),
} as const satisfies Record<ListName, z.ZodType>;

/** A page in the shape that is shown of it. */
export async function pageOf<Name extends ListName>(
  call: Call,
  name: Name,
  query: string,
): Promise<z.infer<(typeof pageShapes)[Name]>> {
  const { status, body } = await call(name + query);
  expect([name + query, status]).toEqual([name + query, 200]);
  const { data, error } = pageShapes[name].safeParse(body);
  expect(error?.issues, name + query).toBeUndefined();
  return data as z.infer<(typeof pageShapes)[Name]>;
}

/** The rows of a page. Where those of news lie is not shown: in whatever array known rows are found. */
export async function rowsOf(
  service: Service,
  call: Call,
  name: ListName,
  query: string,
): Promise<readonly unknown[]> {
  if (name !== 'news') return (await pageOf(call, name, query)).rows;
  const isKnown = (row: unknown) => service.rows.news.some((held) => isDeepStrictEqual(held, row));
  return arraysIn(await pageOf(call, name, query)).find((array) => array.some(isKnown)) ?? [];
}

function arraysIn(value: unknown): unknown[][] {
  if (!(value instanceof Object)) return [];
  const inner = Object.values(value).flatMap(arraysIn);
  return Array.isArray(value) ? [value, ...inner] : inner;
}
