/** Where a Redis is: `REDIS_URL`, and whether it and we agree on TLS. */

import { once } from 'node:events';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { domainToASCII } from 'node:url';
import type { RedisOptions } from 'ioredis';
import { Failure } from '../errors.ts';
import { WayError } from './trouble.ts';

/** What `ioredis` needs to know of a Redis. */
export type Target = Pick<RedisOptions, 'path' | 'host' | 'port' | 'db' | 'username' | 'password' | 'tls'>;

/**
 * Reads `REDIS_URL`: `redis://[user:password@]host[:port][/db]`, `rediss://` for TLS, `unix:///path`.
 * @throws Failure `config`, which never shows the value: it may hold a password.
 */
export function parseRedisUrl(text: string): Target {
  try {
    const url = new URL(text);
    const { protocol, hostname, port, username, password, pathname } = url;
    const login = {
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
    };
    if (url.search !== '' || url.hash !== '') throw new Error('options in the address');
    if (protocol === 'unix:' && hostname === '' && pathname.length > 1)
      return { path: decodeURIComponent(pathname), ...login };
    const db = /^\/?(\d*)$/.exec(pathname)?.[1];
    if ((protocol !== 'redis:' && protocol !== 'rediss:') || hostname === '' || db === undefined)
      throw new Error('not an address of Redis');
    return {
      host: hostOf(hostname),
      port: Number(port || 6379),
      db: Number(db),
      ...login,
      ...(protocol === 'rediss:' && { tls: {} }),
    };
  } catch {
    // No cause: the exception of `new URL` holds its input.
    throw new Failure(
      'config',
      'REDIS_URL: is not of the form redis://user:password@host:6379/0, rediss://… (TLS) or unix:///path (value not shown)',
    );
  }
}

/** A name with letters beyond ASCII in the form that DNS knows, which also tells it from one that looks the same. */
function hostOf(hostname: string): string {
  return (domainToASCII(decodeURIComponent(hostname)) || hostname).replace(/^\[|\]$/g, '');
}

/** Without credentials. */
export function addressOf({ path, host, port, db }: Target): string {
  return path ?? `${host}:${port}/${db}`;
}

const TLS_MS = 1_500;

/** Whether one side speaks TLS alone: neither says so, and a greeting just never ends. Undefined as far as one can tell. */
export async function tlsMismatch({ host, port, path, tls }: Target): Promise<Error | undefined> {
  if (path !== undefined || host === undefined || port === undefined) return undefined;
  if (tls && (await answersPlainly(host, port))) return new WayError('plain', 'it answers without TLS');
  if (!tls && (await answersTls(host, port))) return new WayError('encrypted', 'it answers with TLS alone');
  return undefined;
}

/** Redis answers a PING even where it wants a password first. */
async function answersPlainly(host: string, port: number): Promise<boolean> {
  const socket = connectPlain({ host, port });
  socket.write('PING\r\n');
  const [answer] = await first(socket, 'data').catch(() => ['']);
  return /^[+-]/.test(String(answer));
}

/** An error of TLS is one of somebody who speaks it, but for one: that the answer is no TLS. */
async function answersTls(host: string, port: number): Promise<boolean> {
  try {
    // Nothing is sent by it: whoever it is, only whether TLS is spoken is looked at.
    await first(connectTls({ host, port, rejectUnauthorized: false }), 'secureConnect');
    return true;
  } catch (thrown) {
    const { code = '' } = thrown as NodeJS.ErrnoException;
    return code.startsWith('ERR_SSL') && code !== 'ERR_SSL_WRONG_VERSION_NUMBER';
  }
}

/** What comes with the first such event, within the time; then the socket is closed. */
async function first(socket: Socket, event: string): Promise<unknown[]> {
  try {
    return await once(socket, event, { signal: AbortSignal.timeout(TLS_MS) });
  } finally {
    socket.on('error', () => undefined).destroy();
  }
}
