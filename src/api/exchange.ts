/** One request on the wire and what came back, whatever it was; nothing is retried or judged here. */

import type { Pool } from 'undici';
import type { Secret } from '../key.ts';

export type Headers = Record<string, string | string[] | undefined>;

export type Exchange =
  | { came: 'response'; status: number; headers: Headers; body: Buffer }
  | { came: 'nothing'; error: Error & { code?: string } };

/**
 * Sends a GET and reads the whole answer within `deadlineMs`, however slowly it drips.
 * Redirects are not followed, so the key goes to the pool's origin and nowhere else.
 */
export async function exchange(
  pool: Pool,
  path: string,
  key: Secret,
  userAgent: string,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<Exchange> {
  return await withDeadline(deadlineMs, signal, async (within) => {
    try {
      const { statusCode, headers, body } = await pool.request({
        path,
        method: 'GET',
        signal: within,
        headers: {
          accept: 'application/json',
          'accept-encoding': 'identity',
          authorization: `Bearer ${key.reveal()}`,
          'user-agent': userAgent,
        },
      });
      return { came: 'response', status: statusCode, headers, body: Buffer.from(await body.arrayBuffer()) };
    } catch (thrown) {
      return { came: 'nothing', error: thrown as Error };
    }
  });
}

async function withDeadline<T>(
  ms: number,
  signal: AbortSignal,
  work: (within: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const late = setTimeout(() => {
    controller.abort(Object.assign(new Error(`no complete answer within ${ms} ms`), { code: 'DEADLINE' }));
  }, ms);
  const stop = () => controller.abort(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', stop);
  }
}
