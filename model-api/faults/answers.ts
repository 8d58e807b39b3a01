/** Faults of an answer as HTTP: another status, other headers, other bytes. */

import { gzipSync } from 'node:zlib';
import { bodyBytes, type Fault, jsonAnswer } from '../answer.ts';
import { errorBody, refusals } from '../keys.ts';

export type RefusalOptions = {
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
export function status(code: number, body?: unknown, headers: Record<string, string> = {}): Fault {
  return instead(code, body, headers);
}

/** What a captive portal or a failing proxy sends: HTML, with status 200 unless another is given. */
export function html(code = 200): Fault {
  const page = '<!doctype html><html><head><title>Sign in</title></head><body><h1>Sign in</h1></body></html>';
  return instead(code, Buffer.from(page), { 'content-type': 'text/html; charset=utf-8' });
}

export function redirect(location: string, code = 302): Fault {
  return instead(code, undefined, { location });
}

export function noContent(): Fault {
  return instead(204, undefined, {});
}

/** The body's first part only, with a Content-Length to match. */
export function truncated(part = 0.5): Fault {
  return editBytes((bytes) => bytes.subarray(0, Math.floor(bytes.length * part)));
}

export function emptyBody(): Fault {
  return editBytes(() => Buffer.alloc(0));
}

/** A byte that UTF-8 does not know, in the middle of the first string. */
export function invalidUtf8(): Fault {
  return editBytes((bytes) => {
    const inside = bytes.indexOf('"') + 2;
    return Buffer.concat([bytes.subarray(0, inside), Buffer.from([0xff]), bytes.subarray(inside)]);
  });
}

export function byteOrderMark(): Fault {
  return editBytes((bytes) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]));
}

/** Padded with spaces, which JSON allows, to at least this many bytes. */
export function huge(size = 32 * 2 ** 20): Fault {
  return editBytes((bytes) => Buffer.concat([bytes, Buffer.alloc(Math.max(0, size - bytes.length), ' ')]));
}

/** Changes the JSON text: for numbers and member names that JavaScript cannot hold. */
export function editText(change: (text: string) => string): Fault {
  return editBytes((bytes) => Buffer.from(change(bytes.toString())));
}

/** Compressed, even if the client did not ask for it. */
export function gzipped(): Fault {
  return (answer, context) =>
    headers({ 'content-encoding': 'gzip' })(editBytes(gzipSync)(answer, context), context);
}

export function contentType(type: string): Fault {
  return headers({ 'content-type': type });
}

/** Sets headers, replaces them, or with undefined leaves them out. An array sends one several times. */
export function headers(changes: Record<string, string | readonly string[] | undefined>): Fault {
  return (answer) => {
    const changed = Object.entries({ ...answer.headers, ...changes });
    const kept = changed.filter(
      (entry): entry is [string, string | readonly string[]] => entry[1] !== undefined,
    );
    return { ...answer, headers: Object.fromEntries(kept) };
  };
}

export function withoutRateLimitHeaders(): Fault {
  return headers({ 'x-ratelimit-limit': undefined, 'x-ratelimit-remaining': undefined });
}

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
