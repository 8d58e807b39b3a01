/** Faults: each turns the answer that was planned into the one that is sent. */

import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { errorBody, refusals } from './calls.ts';
import { freshnessOf, type Row } from './datasets.ts';
import { type AnswerContext, bodyBytes, type Fault, jsonAnswer, type ListBody } from './endpoints.ts';

// What a page says: its rows, its paging, its envelope. These touch answers of status 200 alone.

/** Any change of the body, which is shared with the dataset: give back a new one. */
export const editPage =
  (change: (page: ListBody, context: AnswerContext) => unknown): Fault =>
  (answer, context) =>
    answer.status === 200 && isPage(answer.body) ? { ...answer, body: change(answer.body, context) } : answer;

/** Changes copies of the rows. */
export const editRows = (change: (rows: Row[], context: AnswerContext) => Row[]): Fault =>
  editPage((page, context) => ({ ...page, rows: change(structuredClone(page.rows), context) }));

/** Changes a copy of one row: the first, unless another is named by its place in the page. */
export const editRow = (change: (row: Row) => Row, place = 0): Fault =>
  editRows((rows) => rows.map((row, at) => (at === place ? change(row) : row)));

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
export const members = (changes: Record<string, unknown>): Fault =>
  editPage((page) => ({ ...page, ...changes }));

/** Fewer rows than asked for and there are; `returned` and `hasMore` say so truly. */
export const shortPage = (count: number): Fault =>
  editPage((page) => {
    const rows = page.rows.slice(0, count);
    const hasMore = rows.length < page.rows.length || page.pagination.hasMore;
    return { ...page, rows, pagination: { ...page.pagination, returned: rows.length, hasMore } };
  });

/** No rows, and the promise of more. */
export const emptyPageWithMore = (): Fault =>
  editPage((page) => ({
    ...page,
    rows: [],
    pagination: { ...page.pagination, returned: 0, hasMore: true },
  }));

/** `returned` is off by so many from the number of rows. */
export const returnedOff = (by: number): Fault =>
  pagination((planned) => ({ returned: (planned.returned ?? 0) + by }));

/** The first page whatever was asked for, and it says so. */
export const offsetIgnored = (): Fault =>
  editPage((_, { bodyAt, request }) => bodyAt({ offset: 0, limit: request.limit }));

/** Pages of this many rows whatever was asked for, and they say so. */
export const limitIgnored = (limit: number): Fault =>
  editPage((_, { bodyAt, request }) => bodyAt({ offset: request.offset, limit }));

/** A total that rises by one with every call. */
export const changingTotal = (): Fault =>
  pagination((planned, { request }) => ({ total: (planned.total ?? 0) + request.nth }));

/** The page without its pagination object, or without some of its members. */
export const withoutPagination = (...names: readonly string[]): Fault =>
  editPage(({ pagination: planned, ...page }) =>
    names.length === 0 ? page : { ...page, pagination: without(planned, names) },
  );

/** The last row is the first one again. */
export const duplicateRow = (): Fault => editRows((rows) => [...rows.slice(0, -1), ...rows.slice(0, 1)]);

export const extraProperty = (name: string, value: unknown, place = 0): Fault =>
  editRow((row) => ({ ...row, [name]: value }), place);

export const missingProperty = (name: string, place = 0): Fault =>
  editRow((row) => without(row, [name]), place);

/** The rows under another name. */
export const rowsNamed = (name: string): Fault =>
  editPage(({ rows, ...page }) => ({ [name]: rows, ...page }));

/** The rows alone. */
export const bareArray = (): Fault => editPage((page) => page.rows);

/** Everything one level below. */
export const nestedUnder = (name: string): Fault => editPage((page) => ({ [name]: page }));

/** Makes AI signals age as time goes by: `quality.ageSeconds` and `freshness` at the time of the call. */
export const ageing = (): Fault =>
  editPage((page, { request }) => ({
    ...page,
    rows: page.rows.map((row) => {
      if (!(row['quality'] instanceof Object)) return row;
      const ageSeconds = Math.max(0, Math.floor((request.at - Date.parse(String(row['timestamp']))) / 1_000));
      return { ...row, quality: { ...row['quality'], ageSeconds, freshness: freshnessOf(ageSeconds) } };
    }),
  }));

function isPage(body: unknown): body is ListBody {
  return body instanceof Object && 'rows' in body && Array.isArray(body.rows);
}

function without(from: Record<string, unknown>, names: readonly string[]): Row {
  return Object.fromEntries(Object.entries(from).filter(([name]) => !names.includes(name)));
}

// The answer as HTTP: another status, other headers, other bytes.

type RefusalOptions = {
  /** The header's text: seconds, an HTTP date, or garbage. */
  retryAfter?: string;
  code?: string;
};

/** One of the specified error answers, with its Error body. */
export function refuse(status: 401 | 403 | 429 | 503, options: RefusalOptions = {}): Fault {
  const known = { 401: 'key', 403: 'scope', 429: 'rate', 503: 'unavailable' } as const;
  const body = errorBody(status, options.code ?? refusals[known[status]].code);
  const retry = options.retryAfter === undefined ? {} : { 'retry-after': options.retryAfter };
  return instead(status, body, retry);
}

/** Any status with any body: JSON, a Buffer, or none. */
export const status = (code: number, body?: unknown, headers: Record<string, string> = {}): Fault =>
  instead(code, body, headers);

/** What a captive portal or a failing proxy sends: HTML, with status 200 unless another is given. */
export function html(code = 200): Fault {
  const page = '<!doctype html><html><head><title>Sign in</title></head><body><h1>Sign in</h1></body></html>';
  return instead(code, Buffer.from(page), { 'content-type': 'text/html; charset=utf-8' });
}

export const redirect = (location: string, code = 302): Fault => instead(code, undefined, { location });

export const noContent = (): Fault => instead(204, undefined, {});

/** The body's first part only, with a Content-Length to match. */
export const truncated = (part = 0.5): Fault =>
  editBytes((bytes) => bytes.subarray(0, Math.floor(bytes.length * part)));

export const emptyBody = (): Fault => editBytes(() => Buffer.alloc(0));

/** A byte that UTF-8 does not know, in the middle of the first string. */
export const invalidUtf8 = (): Fault =>
  editBytes((bytes) => {
    const inside = bytes.indexOf('"') + 2;
    return Buffer.concat([bytes.subarray(0, inside), Buffer.from([0xff]), bytes.subarray(inside)]);
  });

export const byteOrderMark = (): Fault =>
  editBytes((bytes) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]));

/** Padded with spaces, which JSON allows, to at least this many bytes. */
export const huge = (size = 32 * 2 ** 20): Fault =>
  editBytes((bytes) => Buffer.concat([bytes, Buffer.alloc(Math.max(0, size - bytes.length), ' ')]));

/** Changes the JSON text: for numbers and member names that JavaScript cannot hold. */
export const editText = (change: (text: string) => string): Fault =>
  editBytes((bytes) => Buffer.from(change(bytes.toString())));

/** Compressed, even if the client did not ask for it. */
export const gzipped = (): Fault => (answer, context) =>
  headers({ 'content-encoding': 'gzip' })(editBytes(gzipSync)(answer, context), context);

export const contentType = (type: string): Fault => headers({ 'content-type': type });

/** Sets headers, replaces them, or with undefined leaves them out. An array sends one several times. */
export const headers =
  (changes: Record<string, string | readonly string[] | undefined>): Fault =>
  (answer) => {
    const changed = Object.entries({ ...answer.headers, ...changes });
    const kept = changed.filter(
      (entry): entry is [string, string | readonly string[]] => entry[1] !== undefined,
    );
    return { ...answer, headers: Object.fromEntries(kept) };
  };

export const withoutRateLimitHeaders = (): Fault =>
  headers({ 'x-ratelimit-limit': undefined, 'x-ratelimit-remaining': undefined });

/** Keeps the request id, which every answer has. */
function instead(code: number, body: unknown, headers: Readonly<Record<string, string>>): Fault {
  return (answer) => {
    const id = answer.headers['x-request-id'];
    const kept = id === undefined ? {} : { 'x-request-id': id };
    const fresh = jsonAnswer(code, body);
    const type = body === undefined ? {} : fresh.headers;
    return { ...fresh, headers: { ...type, ...kept, ...headers }, delayMs: answer.delayMs };
  };
}

function editBytes(change: (bytes: Buffer) => Buffer): Fault {
  return (answer) => ({ ...answer, body: change(bodyBytes(answer.body)) });
}

// The connection: slow, cut, or silent.

/** The answer as planned, later. */
export const slow =
  (ms: number): Fault =>
  (answer) => ({ ...answer, delayMs: answer.delayMs + ms });

/** No byte ever comes; the connection stays open. */
export const hang = (): Fault => (answer) => ({ ...answer, deliver: () => null });

/** The connection is reset before any header. */
export const resetBeforeHeaders = (): Fault => (answer) => ({
  ...answer,
  deliver: (response) => {
    response.socket?.resetAndDestroy();
    return null;
  },
});

/** The head and the first part of the body come, then a reset. */
export const resetMidBody = (part = 0.5): Fault =>
  cutAfter(part, (response) => response.socket?.resetAndDestroy());

/** The head and the first part of the body come, then nothing more; the connection stays open. */
export const hangMidBody = (part = 0.5): Fault => cutAfter(part, () => {});

/** Chunked, and closed without the last chunk. */
export function truncatedChunks(part = 0.5): Fault {
  const cut = cutAfter(part, (response) => response.socket?.end());
  return (answer, context) =>
    cut({ ...answer, headers: { ...answer.headers, 'transfer-encoding': 'chunked' } }, context);
}

/** The body in pieces of `bytes`, `everyMs` apart. */
export const drip =
  ({ bytes: size = 1, everyMs = 50 } = {}): Fault =>
  (answer) => ({
    ...answer,
    async deliver(response, bytes, wait) {
      let sent = 0;
      for (; sent + size < bytes.length && !response.destroyed; sent += size) {
        response.write(bytes.subarray(sent, sent + size));
        await wait(everyMs);
      }
      return bytes.subarray(sent);
    },
  });

/** Content-Length says `by` bytes more (or less, if negative) than are sent; the connection closes after them. */
export function contentLengthOff(by: number): Fault {
  const cut = cutAfter(1, (response) => response.socket?.end());
  return (answer, context) => {
    const body = bodyBytes(answer.body);
    const headers = { ...answer.headers, 'content-length': String(Math.max(0, body.length + by)) };
    return cut({ ...answer, body, headers }, context);
  };
}

/** A whole answer on a connection that is closed at once, though keep-alive was agreed. */
export const closeAfterwards = (): Fault => (answer) => ({
  ...answer,
  deliver(response, bytes) {
    // Taken now: an answer that is finished has let go of its socket.
    const { socket } = response;
    response.once('finish', () => socket?.destroySoon());
    return bytes;
  },
});

function cutAfter(part: number, cut: (response: ServerResponse) => void): Fault {
  return (answer) => ({
    ...answer,
    deliver(response, bytes) {
      response.write(bytes.subarray(0, Math.floor(bytes.length * part)), () => cut(response));
      return null;
    },
  });
}
