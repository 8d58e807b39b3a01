/** The connection to Redis, which BullMQ shares and duplicates. */

import { Redis, type RedisOptions } from 'ioredis';
import type { RedisTarget } from '../config.ts';

export type RedisLink = {
  /** Commands wait while Redis is away. */
  client: Redis;
  /** Why there is no connection; undefined where there is one. */
  error(): Error | undefined;
  /** Ends every connection at once; commands in flight fail. */
  end(): void;
};

const settings = {
  maxRetriesPerRequest: null, // BullMQ's demand: its workers wait for Redis instead of failing.
  retryStrategy: (times: number) => Math.min(50 * 2 ** (times - 1), 5_000),
  connectTimeout: 5_000,
  // Longer than the longest blocking read (10 s): a silent network is a lost one.
  socketTimeout: 30_000,
  // Left to the other side to end its half of a connection.
  disconnectTimeout: 500,
} satisfies RedisOptions;

/** Connects, and keeps connecting. */
export function connect(target: RedisTarget): RedisLink {
  const clients: Redis[] = [];
  const client = track(new Redis({ ...target, ...settings }));
  const duplicate = client.duplicate.bind(client);
  client.duplicate = (override) => track(duplicate(override));
  let latest: Error | undefined;

  function track(created: Redis): Redis {
    clients.push(created);
    // Without a listener ioredis prints the errors.
    return created.on('error', (error: Error) => {
      if (created === client) latest = error;
    });
  }

  client.on('ready', () => {
    latest = undefined;
  });
  return { client, error: () => latest, end: () => clients.forEach(end) };
}

/** Without credentials. */
export function addressOf({ path, host, port, db }: RedisTarget): string {
  return path ?? `${host}:${port}/${db}`;
}

/** The result of `work`. @throws Error where it takes longer than `ms`. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A client that disconnects between two tries ends neither itself nor its waiting commands (redis/ioredis#2169,
 * taskforcesh/bullmq#4656), for which BullMQ waits: one more try ends it.
 */
function end(client: Redis): void {
  if (client.status === 'reconnecting') {
    client.disconnect();
    client.connect().catch(() => {});
  }
  if (client.status !== 'end') client.disconnect();
}
