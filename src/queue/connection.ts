/** The connection to Redis: its settings, the first one of a start, and the report that it is lost. */

import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis, type RedisOptions } from 'ioredis';
import type { RedisTarget } from '../config.ts';
import { answerWithin, isRefusal, RedisError, settingFailure, tlsMismatch } from '../redis.ts';

export type Link = {
  /** For BullMQ, which takes duplicates of it for its blocking reads. Commands wait while Redis is away. */
  client: Redis;
  /** Writes to Redis as the queue does. @throws what keeps it from that, within some seconds. */
  trial(): Promise<void>;
  /** Reports a Redis that does not answer. */
  ping(): Promise<void>;
  /** Ends every connection at once; commands in flight fail. */
  disconnect(): void;
};

const CONNECT_MS = 5_000;
/** A Redis that still loads its data may not answer, nor what is no Redis. */
const GREETING_MS = 6_000;
/** If a greeting takes longer, one side may speak TLS alone. */
const TLS_DOUBT_MS = 300;
const LONGEST_RETRY_MS = 5_000;
/** Longer than the longest blocking read (10 s): a silent network is a lost one. */
const SILENCE_MS = 30_000;
/** Left to the other side to end its half of a connection. */
const DISCONNECT_MS = 500;

/**
 * Connects once, for a start, and hangs up.
 * @returns why Redis is not there yet; undefined where it is.
 * @throws Failure `config` where Redis refuses the user name or password, or one side speaks TLS alone; the signal's reason.
 */
export async function greet(
  target: RedisTarget,
  signal?: AbortSignal,
  greetingMs = GREETING_MS,
): Promise<Error | undefined> {
  const client = new Redis({
    ...target,
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: CONNECT_MS,
  });
  const errors: Error[] = [];
  client.on('error', (error: Error) => void errors.push(error));
  let asked: ReturnType<typeof tlsMismatch> | undefined;
  const askForTls = () => (asked ??= tlsMismatch(target));
  const over = new AbortController();
  const doubt = delay(TLS_DOUBT_MS, undefined, { signal: over.signal }).then(async () => {
    const mismatch = await askForTls();
    return mismatch ? Promise.reject(mismatch) : new Promise<never>(() => undefined);
  });
  try {
    const connected = Promise.race([client.connect(), doubt]);
    const isThere = await orAborted(within(greetingMs, connected), signal);
    return isThere ? undefined : new RedisError('silent', 'no greeting');
  } catch (thrown) {
    signal?.throwIfAborted();
    const refusal = [...errors, thrown as Error].find(isRefusal) ?? (await askForTls());
    if (refusal) throw settingFailure(target, refusal);
    return new RedisError('unreachable', (errors[0] ?? (thrown as Error)).message);
  } finally {
    over.abort();
    doubt.catch(() => undefined);
    client.disconnect();
  }
}

/** Connects, and keeps connecting. */
export function connect(
  target: RedisTarget,
  parts: {
    /** Of the key that a trial writes. */
    prefix: string;
    report: (error: Error) => void;
    /** Left to Redis for an answer before it counts as silent. */
    answerMs: number;
  },
): Link {
  const { prefix, report, answerMs } = parts;
  const clients: Redis[] = [];
  const client = track(
    new Redis({
      ...target,
      maxRetriesPerRequest: null, // BullMQ's demand: its workers wait for Redis instead of failing.
      retryStrategy: (times) => Math.min(50 * 2 ** (times - 1), LONGEST_RETRY_MS),
      connectTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
      disconnectTimeout: DISCONNECT_MS,
    } satisfies RedisOptions),
  );
  const duplicate = client.duplicate.bind(client);
  client.duplicate = (override) => track(duplicate(override));
  const write = trialWriter(client, prefix);
  let latest: Error = new RedisError('lost', 'not every connection is there');
  let writing: Promise<unknown> | undefined;
  let isUp = false;

  function track(created: Redis): Redis {
    clients.push(created);
    // Without a listener ioredis prints the errors.
    created.on('error', (error: Error) => {
      if (isRefusal(error)) report(error);
      if (created === client)
        latest = isRefusal(error) ? error : new RedisError('unreachable', error.message);
    });
    return created;
  }

  client.on('ready', () => {
    isUp = true;
  });
  client.on('close', () => {
    if (!isUp) return;
    isUp = false;
    latest = new RedisError('lost', 'the connection was closed');
    report(latest);
  });

  return {
    client,
    async trial() {
      if (clients.some(({ status }) => status !== 'ready' && status !== 'end'))
        throw (await tlsMismatch(target)) ?? latest;
      // One write at a time, lest they pile up.
      writing ??= write().finally(() => {
        writing = undefined;
      });
      await answerWithin(answerMs, writing);
    },
    ping: () => answerWithin(answerMs, client.ping()).then(() => undefined, report),
    disconnect: () => clients.forEach(end),
  };
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

/** Returns what writes as the queue does, by a script that is called by its digest. The key expires after a minute. */
export function trialWriter(client: Redis, prefix: string): () => Promise<unknown> {
  client.defineCommand('marketMirrorTrial', {
    numberOfKeys: 1,
    lua: "return redis.call('SET', KEYS[1], '1', 'PX', 60000)",
  });
  const { marketMirrorTrial } = client as Redis & { marketMirrorTrial(key: string): Promise<unknown> };
  return () => marketMirrorTrial.call(client, `${prefix}:trial`);
}

/** Whether `work` ended within `ms`. @throws its error. */
export async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The result of `work`. @throws the signal's reason if that is aborted first. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return await work;
  // Its error must not end the process once nobody waits for it.
  work.catch(() => undefined);
  signal.throwIfAborted();
  const over = new AbortController();
  const stopped = once(signal, 'abort', { signal: over.signal });
  stopped.catch(() => undefined);
  try {
    return await Promise.race([work, stopped.then(() => Promise.reject(signal.reason))]);
  } finally {
    over.abort();
  }
}
