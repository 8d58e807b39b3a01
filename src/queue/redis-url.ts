/** `REDIS_URL`, and what is said of it. */

import { domainToASCII } from 'node:url';
import type { RedisOptions } from 'ioredis';
import { Failure } from '../errors.ts';

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
