/** The queries that were run in this browser, the latest first: bounded, and each can be forgotten. */

import type { Sql } from '../../sql.ts';

export type Past = Sql & {
  /** When it was last run, ISO 8601. */
  ranAt: string;
  /** Of its answer; null where it failed or was stopped. */
  rows: number | null;
};

export const MOST_QUERIES = 100;
const MOST_LETTERS = 200_000;

/** With one more: the same query is kept once, and the oldest are dropped when there are too many or they are too long. */
export function withQuery(past: readonly Past[], query: Past): Past[] {
  const others = past.filter((one) => !isSame(one, query)).slice(0, MOST_QUERIES - 1);
  let letters = 0;
  return [query, ...others].filter((one, at) => {
    letters += one.sql.length + JSON.stringify(one.params).length;
    return at === 0 || letters <= MOST_LETTERS;
  });
}

export const withoutQuery = (past: readonly Past[], query: Sql): Past[] =>
  past.filter((one) => !isSame(one, query));

/** What was kept may be of another release, or anybody's. */
export function readPast(kept: unknown): Past[] {
  return Array.isArray(kept) ? kept.filter(isPast).slice(0, MOST_QUERIES) : [];
}

function isPast(one: unknown): one is Past {
  if (typeof one !== 'object' || one === null) return false;
  const { sql, params, ranAt, rows } = one as Partial<Past>;
  const isKnown = typeof rows === 'number' || rows === null;
  return typeof sql === 'string' && typeof ranAt === 'string' && isKnown && isParams(params);
}

/** Names with texts, numbers or null. */
export function isParams(params: unknown): params is Sql['params'] {
  if (typeof params !== 'object' || params === null || Array.isArray(params)) return false;
  return Object.values(params).every(
    (value) => value === null || typeof value === 'string' || typeof value === 'number',
  );
}

const isSame = (one: Sql, other: Sql) =>
  one.sql.trim() === other.sql.trim() && JSON.stringify(one.params) === JSON.stringify(other.params);
