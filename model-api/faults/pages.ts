/** Faults in what a page says: its rows, its paging, its envelope. They touch answers of status 200 alone. */

import type { AnswerContext, Fault } from '../answer.ts';
import { freshnessOf } from '../datasets/ai-signals.ts';
import type { Row } from '../datasets.ts';
import type { ListBody } from '../endpoints.ts';

/** Any change of the body, which is shared with the dataset: give back a new one. */
export function editPage(change: (page: ListBody, context: AnswerContext) => unknown): Fault {
  return (answer, context) =>
    answer.status === 200 && isPage(answer.body) ? { ...answer, body: change(answer.body, context) } : answer;
}

/** Changes copies of the rows. */
export function editRows(change: (rows: Row[], context: AnswerContext) => Row[]): Fault {
  return editPage((page, context) => ({ ...page, rows: change(structuredClone(page.rows), context) }));
}

/** Changes a copy of one row: the first, unless another is named by its place in the page. */
export function editRow(change: (row: Row) => Row, place = 0): Fault {
  return editRows((rows) => rows.map((row, at) => (at === place ? change(row) : row)));
}

/** Sets members of the pagination object; a function sees what was planned. */
export function pagination(
  changes:
    | Record<string, unknown>
    | ((planned: ListBody['pagination'], context: AnswerContext) => Record<string, unknown>),
): Fault {
  return editPage((page, context) => {
    const changed = typeof changes === 'function' ? changes(page.pagination, context) : changes;
    return { ...page, pagination: { ...page.pagination, ...changed } };
  });
}

/** Sets members of the page beside its rows. */
export function members(changes: Record<string, unknown>): Fault {
  return editPage((page) => ({ ...page, ...changes }));
}

/** Fewer rows than asked for and there are; `returned` and `hasMore` say so truly. */
export function shortPage(count: number): Fault {
  return editPage((page) => {
    const rows = page.rows.slice(0, count);
    const hasMore = rows.length < page.rows.length || page.pagination.hasMore;
    return { ...page, rows, pagination: { ...page.pagination, returned: rows.length, hasMore } };
  });
}

/** No rows, and the promise of more. */
export function emptyPageWithMore(): Fault {
  return editPage((page) => ({
    ...page,
    rows: [],
    pagination: { ...page.pagination, returned: 0, hasMore: true },
  }));
}

/** `returned` is off by so many from the number of rows. */
export function returnedOff(by: number): Fault {
  return pagination((planned) => ({ returned: (planned.returned ?? 0) + by }));
}

/** The first page whatever was asked for, and it says so. */
export function offsetIgnored(): Fault {
  return editPage((_, { bodyAt, request }) => bodyAt({ offset: 0, limit: request.limit }));
}

/** Pages of this many rows whatever was asked for, and they say so. */
export function limitIgnored(limit: number): Fault {
  return editPage((_, { bodyAt, request }) => bodyAt({ offset: request.offset, limit }));
}

/** A total that rises by one with every call. */
export function changingTotal(): Fault {
  return pagination((planned, { request }) => ({ total: (planned.total ?? 0) + request.nth }));
}

/** The page without its pagination object, or without some of its members. */
export function withoutPagination(...names: readonly string[]): Fault {
  return editPage(({ pagination: planned, ...page }) =>
    names.length === 0 ? page : { ...page, pagination: without(planned, names) },
  );
}

/** The last row is the first one again. */
export function duplicateRow(): Fault {
  return editRows((rows) => [...rows.slice(0, -1), ...rows.slice(0, 1)]);
}

export function extraProperty(name: string, value: unknown, place = 0): Fault {
  return editRow((row) => ({ ...row, [name]: value }), place);
}

export function missingProperty(name: string, place = 0): Fault {
  return editRow((row) => without(row, [name]), place);
}

/** The rows under another name. */
export function rowsNamed(name: string): Fault {
  return editPage(({ rows, ...page }) => ({ [name]: rows, ...page }));
}

/** The rows alone. */
export function bareArray(): Fault {
  return editPage((page) => page.rows);
}

/** Everything one level below. */
export function nestedUnder(name: string): Fault {
  return editPage((page) => ({ [name]: page }));
}

/** Makes AI signals age as time goes by: `quality.ageSeconds` and `freshness` at the time of the call. */
export function ageing(): Fault {
  return editPage((page, { request }) => ({
    ...page,
    rows: page.rows.map((row) => {
      if (!(row['quality'] instanceof Object)) return row;
      const ageSeconds = Math.max(0, Math.floor((request.at - Date.parse(String(row['timestamp']))) / 1_000));
      return { ...row, quality: { ...row['quality'], ageSeconds, freshness: freshnessOf(ageSeconds) } };
    }),
  }));
}

function isPage(body: unknown): body is ListBody {
  return body instanceof Object && 'rows' in body && Array.isArray(body.rows);
}

function without(from: Record<string, unknown>, names: readonly string[]): Row {
  return Object.fromEntries(Object.entries(from).filter(([name]) => !names.includes(name)));
}
