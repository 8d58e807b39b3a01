/** The connection to Redis: its settings, and the one place that says when it is lost and when it is back. */

import { Redis, type RedisOptions } from 'ioredis';
import { Failure } from '../errors.ts';
import type { Log } from './log.ts';

/** What `ioredis` needs to know of a Redis. */
export type Target = Pick<RedisOptions, 'path' | 'host' | 'port' | 'db' | 'username' | 'password' | 'tls'>;

export type Link = {
  /** For BullMQ, which takes duplicates of it for its blocking reads. Commands wait while Redis is away. */
  client: Redis;
  isUp(): boolean;
  /**
   * Resolves at the first connection, or once it is known that Redis is not there yet.
   * @throws Failure `config` where Redis refuses the user name or password.
   */
  greeted: Promise<void>;
  /** Ends every connection at once; commands under way fail. */
  disconnect(): void;
};

const CONNECT_MS = 5_000;
/** A Redis that is there but still loads its data, or is not a Redis, may answer nothing at all. */
const GREETING_MS = 6_000;
const LONGEST_RETRY_MS = 2_000;
/** Longer than the longest blocking read (10 s): a silent network is a lost one. */
const SILENCE_MS = 30_000;
/** Left to the other side to end its half of a connection. */
const DISCONNECT_MS = 500;

const settings = {
  maxRetriesPerRequest: null, // BullMQ's demand: its workers wait for Redis instead of failing.
  retryStrategy: (times: number) => Math.min(50 * 2 ** (times - 1), LONGEST_RETRY_MS),
  connectTimeout: CONNECT_MS,
  socketTimeout: SILENCE_MS,
  disconnectTimeout: DISCONNECT_MS,
} satisfies RedisOptions;

/** Connects, and keeps connecting; `onUp` is called whenever Redis is there (again). */
export function connect(
  target: Target,
  { log, onUp, greetingMs = GREETING_MS }: { log: Log; onUp: () => void; greetingMs?: number },
): Link {
  const redis = addressOf(target);
  const clients: Redis[] = [];
  const client = track(new Redis({ ...target, ...settings }));
  const duplicate = client.duplicate.bind(client);
  client.duplicate = (override) => track(duplicate(override));
  let state: 'greeting' | 'up' | 'lost' | 'ended' = 'greeting';
  let refused = false;

  function track(created: Redis): Redis {
    clients.push(created);
    // The main client's errors speak for all; without a listener ioredis prints those of the others.
    created.on('error', () => {});
    return created;
  }

  const greeted = new Promise<void>((resolve, reject) => {
    const patience = setTimeout(() => startWaiting('it does not answer'), greetingMs);
    function startWaiting(err: string): void {
      if (state !== 'greeting') return;
      state = 'lost';
      clearTimeout(patience);
      log.warn({ redis, err }, 'Redis is not reachable: waiting for it');
      resolve();
    }
    client.on('ready', () => {
      if (state === 'ended') return;
      if (state === 'lost') log.info({ redis }, 'Redis is back');
      state = 'up';
      refused = false;
      clearTimeout(patience);
      resolve();
      onUp();
    });
    client.on('close', () => {
      if (state !== 'up') return;
      state = 'lost';
      log.warn({ redis }, 'Redis lost: waiting for it');
    });
    client.on('error', (error: Error) => {
      if (!isRefusal(error)) return startWaiting(error.message);
      if (state === 'greeting') {
        clearTimeout(patience);
        reject(new Failure('config', `REDIS_URL: the Redis at ${redis} refuses the user name or password`));
      } else if (!refused) {
        refused = true;
        log.error({ redis }, 'Redis refuses the user name or password of REDIS_URL');
      }
    });
  });

  return {
    client,
    isUp: () => state === 'up',
    greeted,
    disconnect() {
      state = 'ended';
      clients.forEach(end);
    },
  };
}

/**
 * A client that is told to disconnect between two tries ends neither itself nor its waiting commands, and BullMQ
 * waits for both (redis/ioredis#2169, taskforcesh/bullmq#4656): it needs one more try to end.
 */
function end(client: Redis): void {
  if (client.status === 'reconnecting') {
    client.disconnect();
    client.connect().catch(() => {});
  }
  if (client.status !== 'end') client.disconnect();
}

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
      host: hostname.replace(/^\[|\]$/g, ''),
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

function addressOf({ path, host, port, db }: Target): string {
  return path ?? `${host}:${port}/${db}`;
}

export function isRefusal(error: Error): boolean {
  return /^(WRONGPASS|NOAUTH|NOPERM|ERR invalid password)/.test(error.message);
}

/** True for what the link already reports: the connection, not a command. */
export function isConnectionError(error: Error): boolean {
  return 'syscall' in error || /^(Connection is closed|Socket timeout|connect E)/.test(error.message);
}
