/** One request on the wire and its response. A response may quote the request, so the key is removed before anything parses it. */

import type { Dispatcher } from 'undici';
import { toError } from '../base/errors.ts';
import type { Secret } from '../base/key.ts';
import { unpack } from './encoding.ts';
import { BROKEN, type Headers, listed, type RawResponse, STOPPED, TOO_LARGE } from './response.ts';

/**
 * Sends a GET and reads the whole response within `deadlineMs`. Redirects are not followed, so the key goes to the origin alone.
 * @param bodyBytes the most that an unpacked body may have.
 */
export async function exchange(
  dispatcher: Dispatcher,
  { origin, path }: { origin: string; path: string },
  key: Secret,
  userAgent: string,
  { deadlineMs, bodyBytes }: { deadlineMs: number; bodyBytes: number },
  signal: AbortSignal,
): Promise<RawResponse> {
  const late = AbortSignal.timeout(deadlineMs);
  const lose = (code: string): RawResponse => ({
    ...{ status: null, code: key.hideIn(code), headers: {}, bytes: 0, body: null, trouble: null },
  });
  let hasBegun = false;
  try {
    const { statusCode, headers, body } = await dispatcher.request({
      ...{ origin, path, method: 'GET', signal: AbortSignal.any([signal, late]) },
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        authorization: `Bearer ${key.reveal()}`,
        'user-agent': userAgent,
      },
    });
    hasBegun = true;
    const received = Buffer.from(await body.arrayBuffer());
    const unpacked = unpack(received, listed(headers['content-encoding']), bodyBytes);
    if (!unpacked) return lose(TOO_LARGE);
    const { trouble } = unpacked;
    return {
      status: statusCode,
      code: null,
      headers: withoutKey(headers, key),
      bytes: received.length,
      body: withoutMark(key.hideIn(unpacked.body)),
      trouble: trouble && { ...trouble, name: key.hideIn(trouble.name) },
    };
  } catch (thrown) {
    if (signal.aborted) return lose(STOPPED);
    const error = toError(thrown);
    const code = late.aborted ? 'DEADLINE' : codeOf(error);
    const isBroken = hasBegun || isOfResponse(error, code);
    return lose(isBroken && code !== TOO_LARGE ? BROKEN + code : code);
  }
}

/** Whether the error is of bytes that came, before the head of a response was whole. */
function isOfResponse({ name, ...error }: Error, code: string): boolean {
  const { bytesRead = 0 } = (error as { socket?: { bytesRead?: number } }).socket ?? {};
  const isNoHead = /^(HPE_|UND_ERR_RES_|UND_ERR_HEADERS_OVERFLOW|ERR_ASSERTION)/.test(code);
  return isNoHead || name === 'HTTPParserError' || bytesRead > 0;
}

/** The code of an error of undici, or what else tells it from others. */
export function codeOf(error: Error): string {
  const { code } = error as { code?: unknown };
  // What is wrong with a response stands in the message alone.
  const [, reason] = /^Response does not match .*?\((.+)\)/.exec(error.message) ?? [];
  return reason ?? (typeof code === 'string' ? code : error.name);
}

function withoutKey(headers: Headers, key: Secret): Headers {
  const hidden = (value: Headers[string]) =>
    Array.isArray(value) ? value.map(key.hideIn<string>) : value && key.hideIn(value);
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, hidden(value)]));
}

const MARK = Buffer.from('\ufeff');

/** RFC 8259, 8.1: whoever reads JSON may pass over a byte order mark. */
function withoutMark(body: Buffer): Buffer {
  return body.subarray(0, MARK.length).equals(MARK) ? body.subarray(MARK.length) : body;
}
