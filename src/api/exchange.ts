/** One request on the wire and its response. A response may quote the request, so the key is removed before anything parses it. */

import { gunzipSync } from 'node:zlib';
import type { Dispatcher, Pool } from 'undici';
import { toError } from '../errors.ts';
import type { Secret } from '../key.ts';
import { first, type Headers, type RawResponse, STOPPED } from './response.ts';

/**
 * Sends a GET and reads the whole response within `deadlineMs`. Redirects are not followed, so the key goes to the pool's origin
 * alone.
 * @param bodyBytes the most that an unpacked body may have.
 */
export function exchange(
  pool: Pool,
  path: string,
  key: Secret,
  userAgent: string,
  { deadlineMs, bodyBytes }: { deadlineMs: number; bodyBytes: number },
  signal: AbortSignal,
): Promise<RawResponse> {
  return new Promise((resolve) => {
    let request: Dispatcher.DispatchController | undefined;
    let error: Error | undefined;
    let status = 0;
    let headers: Headers = {};
    const parts: Buffer[] = [];

    const end = (response: RawResponse) => {
      clearTimeout(late);
      signal.removeEventListener('abort', stop);
      resolve(response);
    };
    const fail = (reason: Error, code = codeOf(reason)) => {
      // The abort below calls this once more.
      if (error) return;
      error = reason;
      request?.abort(error);
      end({ status: null, code: key.hideIn(code), headers: {}, bytes: 0, body: null });
    };
    const receive = () => {
      const received = Buffer.concat(parts);
      const plain = unpack(received, first(headers['content-encoding']), bodyBytes);
      end({
        status,
        code: null,
        headers: withoutKey(headers, key),
        bytes: received.length,
        body: plain && key.hideIn(plain),
      });
    };
    const stop = () => fail(toError(signal.reason), STOPPED);
    const late = setTimeout(() => {
      fail(new Error(`no complete answer within ${deadlineMs} ms`), 'DEADLINE');
    }, deadlineMs);
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop);

    // A handler of our own: a stream for each body would take a third of undici's time.
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        request = controller;
        // It was aborted while it waited for a connection.
        if (error) controller.abort(error);
      },
      onResponseStart(_, statusCode, received) {
        status = statusCode;
        headers = received;
      },
      onResponseData: (_, part) => void parts.push(part),
      onResponseEnd: receive,
      onResponseError: (_, thrown) => fail(thrown),
    };
    pool.dispatch(
      {
        path,
        method: 'GET',
        headers: {
          accept: 'application/json',
          'accept-encoding': 'identity',
          authorization: `Bearer ${key.reveal()}`,
          'user-agent': userAgent,
        },
      },
      handler,
    );
  });
}

function codeOf(error: Error): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : error.name;
}

function withoutKey(headers: Headers, key: Secret): Headers {
  const hidden = (value: Headers[string]) =>
    Array.isArray(value) ? value.map(key.hideIn<string>) : value && key.hideIn(value);
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, hidden(value)]));
}

/** Some proxies compress although nobody asked; a small body may unpack to more than memory holds. */
function unpack(bytes: Buffer, encoding = 'identity', limit: number): Buffer | null {
  const name = encoding.trim().toLowerCase();
  if (name === 'identity' || name === '' || bytes.length === 0) return bytes;
  if (name !== 'gzip' && name !== 'x-gzip') return null;
  try {
    return gunzipSync(bytes, { maxOutputLength: limit });
  } catch {
    return null;
  }
}
