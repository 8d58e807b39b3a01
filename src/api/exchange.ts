/** One request on the wire and what came back, whatever it was; nothing is retried or judged here. */

import type { Dispatcher, Pool } from 'undici';
import { toError } from '../errors.ts';
import type { Secret } from '../key.ts';

export type Headers = Record<string, string | string[] | undefined>;

export type Exchange =
  | { came: 'response'; status: number; headers: Headers; body: Buffer }
  | { came: 'nothing'; error: Error & { code?: string } };

/**
 * Sends a GET and reads the whole answer within `deadlineMs`, however slowly it drips.
 * Redirects are not followed, so the key goes to the pool's origin and nowhere else.
 */
export function exchange(
  pool: Pool,
  path: string,
  key: Secret,
  userAgent: string,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<Exchange> {
  return new Promise((resolve) => {
    let request: Dispatcher.DispatchController | undefined;
    let error: Error | undefined;
    let status = 0;
    let headers: Headers = {};
    const parts: Buffer[] = [];

    const end = (outcome: Exchange) => {
      clearTimeout(late);
      signal.removeEventListener('abort', stop);
      resolve(outcome);
    };
    const fail = (reason: Error) => {
      error ??= reason;
      request?.abort(error);
      end({ came: 'nothing', error });
    };
    const stop = () => fail(toError(signal.reason));
    const late = setTimeout(() => {
      fail(Object.assign(new Error(`no complete answer within ${deadlineMs} ms`), { code: 'DEADLINE' }));
    }, deadlineMs);
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop);

    // A handler of our own: a stream of each body, to be read at once and whole, would take a third of undici's time.
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        request = controller;
        // It was given up while it waited for a connection.
        if (error) controller.abort(error);
      },
      onResponseStart(_, statusCode, received) {
        status = statusCode;
        headers = received;
      },
      onResponseData: (_, part) => void parts.push(part),
      onResponseEnd: () => end({ came: 'response', status, headers, body: Buffer.concat(parts) }),
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
