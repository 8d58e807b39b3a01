/** A client of the service that sends what it is told to. */

import { type Dispatcher, request } from 'undici';

export type Got = {
  status: number;
  headers: Dispatcher.ResponseData['headers'];
  /** As it came. */
  bytes: Buffer;
  /** Of an answer that is not compressed. */
  json: unknown;
};

export type Get = (
  path: string,
  headers?: Record<string, string>,
  method?: Dispatcher.HttpMethod,
) => Promise<Got>;

/** Calls below `url`, with the key where one is given. */
export function getter(url: string, key?: string): Get {
  return async (path, headers = {}, method = 'GET') => {
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const answer = await request(`${url}${path}`, { method, headers: { ...authorization, ...headers } });
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    const isPlain = answer.headers['content-encoding'] === undefined;
    const isJson = bytes.length > 0 && isPlain && answer.headers['content-type'] === 'application/json';
    return {
      status: answer.statusCode,
      headers: answer.headers,
      bytes,
      json: isJson ? JSON.parse(bytes.toString()) : undefined,
    };
  };
}

export type PageBody = {
  generatedAt?: string | null;
  rows: Record<string, unknown>[];
  pagination: { offset: number; limit: number; total: number; returned: number; hasMore: boolean };
};

export const pageIn = ({ json }: Got) => json as PageBody;

/** All rows, a page after the other; what follows `query` in each call is `offset`. */
export async function walkPages(get: Get, path: string, query = ''): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  for (;;) {
    const page = pageIn(await get(`${path}?limit=37&offset=${rows.length}${query}`));
    rows.push(...page.rows);
    if (!page.pagination.hasMore) return rows;
  }
}
