/** Whether a Redis and we disagree on TLS: neither side says so, and a greeting just never ends. */

import { once } from 'node:events';
import { connect as connectPlain } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Target } from './redis-url.ts';
import { WayError } from './trouble.ts';

const PATIENCE_MS = 1_500;

/** @returns what to change; undefined where that is not the matter, as far as one can tell. */
export async function tlsMismatch({ host, port, path, tls }: Target): Promise<Error | undefined> {
  if (path !== undefined || host === undefined || port === undefined) return undefined;
  if (tls) {
    const plain = await answersPlainly(host, port);
    return plain ? new WayError('plain', 'it answers without TLS') : undefined;
  }
  const encrypted = await answersTls(host, port);
  return encrypted ? new WayError('encrypted', 'it answers with TLS alone') : undefined;
}

/** Redis answers a PING even where it wants a password first. */
async function answersPlainly(host: string, port: number): Promise<boolean> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const socket = connectPlain({ host, port });
  try {
    socket.write('PING\r\n');
    const [answer] = (await once(socket, 'data', { signal })) as [Buffer];
    return /^[+-]/.test(answer.toString('latin1'));
  } catch {
    return false;
  } finally {
    socket.on('error', () => undefined).destroy();
  }
}

/** An error of TLS is one of somebody who speaks it, but for one: that the answer is no TLS. */
async function answersTls(host: string, port: number): Promise<boolean> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  // Nothing is sent by it: whoever it is, only whether TLS is spoken is looked at.
  const socket = connectTls({ host, port, rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect', { signal });
    return true;
  } catch (thrown) {
    const { code = '' } = thrown as NodeJS.ErrnoException;
    return code.startsWith('ERR_SSL') && code !== 'ERR_SSL_WRONG_VERSION_NUMBER';
  } finally {
    socket.on('error', () => undefined).destroy();
  }
}
