/** Faults that answer something else altogether: error statuses, redirects, proxies' pages. */

import { jsonAnswer } from '../answer.ts';
import { errorBody, errorCodes } from '../refusals.ts';
import type { Fault } from './script.ts';

export type RefusalOptions = {
  /** The header as it stands: seconds, an HTTP date, or garbage. */
  retryAfter?: string;
  code?: string;
};

/** One of the specified error answers, with its Error body. */
export function refuse(status: 401 | 403 | 429 | 503, options: RefusalOptions = {}): Fault {
  const known = { 401: 'key', 403: 'scope', 429: 'rate', 503: 'unavailable' } as const;
  const body = errorBody(status, options.code ?? errorCodes[known[status]]);
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

/** Keeps the request id, which stands on every answer. */
function instead(code: number, body: unknown, headers: Readonly<Record<string, string>>): Fault {
  return (answer) => {
    const id = answer.headers['x-request-id'];
    const kept = id === undefined ? {} : { 'x-request-id': id };
    const fresh = jsonAnswer(code, body);
    const type = body === undefined ? {} : fresh.headers;
    return { ...fresh, headers: { ...type, ...kept, ...headers }, delayMs: answer.delayMs };
  };
}
