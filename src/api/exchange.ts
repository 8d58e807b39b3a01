/** One request on the wire and its response. A response may quote the request, so the key is removed before anything parses it. */

import type { Dispatcher } from 'undici';
import { toError } from '../errors.ts';
import type { Secret } from '../key.ts';
import { unpack } from './encoding.ts';
import { BROKEN, type Headers, listed, type RawResponse, STOPPED, TOO_LARGE } from './response.ts';

/**
 * Sends a GET and reads the whole response within `deadlineMs`. Redirects are not followed, so the key goes to the origin alone.
 * @param bodyBytes the most that an unpacked body may have.
 */
export function exchange(
  dispatcher: Dispatcher,
  { origin, path }: { origin: string; path: string },
  key: Secret,
  userAgent: string,
  { deadlineMs, bodyBytes }: { deadlineMs: number; bodyBytes: number },
  signal: AbortSignal,
): Promise<RawResponse> {
  return new Promise((resolve) => {
    let request: Dispatcher.DispatchController | undefined;
    let error: Error | undefined;
    let hasBegun = false;
    let status = 0;
    let headers: Headers = {};
    const parts: Buffer[] = [];

    const end = (response: RawResponse) => {
      clearTimeout(late);
      signal.removeEventListener('abort', stop);
      resolve(response);
    };
    const lose = (code: string) =>
      end({ status: null, code: key.hideIn(code), headers: {}, bytes: 0, body: null, trouble: null });
    const fail = (reason: Error, code = codeOf(reason)) => {
      // The abort below calls this once more.
      if (error) return;
      error = reason;
      request?.abort(error);
      lose(hasBegun && code !== STOPPED && code !== TOO_LARGE ? BROKEN + code : code);
    };
    const receive = () => {
      const received = Buffer.concat(parts);
      const unpacked = unpack(received, listed(headers['content-encoding']), bodyBytes);
      if (!unpacked) return lose(TOO_LARGE);
      const { body, trouble } = unpacked;
      end({
        status,
        code: null,
        headers: withoutKey(headers, key),
        bytes: received.length,
        body: withoutMark(key.hideIn(body)),
        trouble: trouble && { ...trouble, name: key.hideIn(trouble.name) },
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
      onResponseStarted() {
        hasBegun = true;
      },
      onResponseStart(_, statusCode, received) {
        status = statusCode;
        headers = received;
      },
      onResponseData: (_, part) => void parts.push(part),
      onResponseEnd: receive,
      onResponseError: (_, thrown) => fail(thrown),
    };
    dispatcher.dispatch(
      {
        origin,
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
