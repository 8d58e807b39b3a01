/** The connection to Redis: its settings, and the one place that says when it is lost and when it is back. */

import { once } from 'node:events';
import { Redis, type RedisOptions } from 'ioredis';
import { addressOf, isRefusal, RedisError, settingFailure, type Target, tlsMismatch } from '../redis.ts';

export type Link = {
  /** For BullMQ, which takes duplicates of it for its blocking reads. Commands wait while Redis is away. */
  client: Redis;
  isUp(): boolean;
  /**
   * Resolves at the first connection, or once it is known that Redis is not there yet.
   * @throws Failure `config` where Redis refuses the user name or password, or where one side speaks TLS alone.
   */
  greeted: Promise<void>;
  /** Writes to Redis as the queue does. @throws what keeps it from that, within some seconds. */
  trial(): Promise<void>;
  /** Reports a Redis that does not answer. */
  look(): Promise<void>;
  /** Ends every connection at once; commands under way fail. */
  disconnect(): void;
};

export type LinkParts = {
  /** Of what it writes on trial. */
  prefix: string;
  report: (error: Error) => void;
  onUp: () => void;
  greetingMs?: number;
  answerMs?: number;
};

const CONNECT_MS = 5_000;
/** A Redis that is there but still loads its data, or is not a Redis, may answer nothing at all. */
const GREETING_MS = 6_000;
const LONGEST_RETRY_MS = 5_000;
/** Longer than the longest blocking read (10 s): a silent network is a lost one. */
const SILENCE_MS = 30_000;
/** Left to Redis for an answer before it counts as silent. */
const ANSWER_MS = 4_000;
/** Left to the other side to end its half of a connection. */
const DISCONNECT_MS = 500;
/** A greeting that takes longer may be one in the wrong language. */
const TLS_DOUBT_MS = 300;

const settings = {
  maxRetriesPerRequest: null, // BullMQ's demand: its workers wait for Redis instead of failing.
  retryStrategy: (times: number) => Math.min(50 * 2 ** (times - 1), LONGEST_RETRY_MS),
  connectTimeout: CONNECT_MS,
  socketTimeout: SILENCE_MS,
  disconnectTimeout: DISCONNECT_MS,
} satisfies RedisOptions;

/** Connects, and keeps connecting; `onUp` is called whenever Redis is there (again). */
export function connect(target: Target, parts: LinkParts): Link {
  const { prefix, report, onUp, greetingMs = GREETING_MS, answerMs = ANSWER_MS } = parts;
  const address = addressOf(target);
  const clients: Redis[] = [];
  const client = track(new Redis({ ...target, ...settings }));
  const duplicate = client.duplicate.bind(client);
  client.duplicate = (override) => track(duplicate(override));
  const takesWrites = writesTo(client, prefix);
  let state: 'greeting' | 'up' | 'lost' | 'ended' = 'greeting';
  let latest: Error | undefined;
  let writing: Promise<unknown> | undefined;
  let greeting: NodeJS.Timeout[] = [];
  const settle = () => greeting.forEach(clearTimeout);

  function track(created: Redis): Redis {
    clients.push(created);
    // Without a listener ioredis prints the errors. What a duplicate is refused, the first one may still have.
    created.on('error', (error: Error) => {
      if (created !== client && state === 'up' && isRefusal(error)) report(error);
    });
    return created;
  }

  const greeted = new Promise<void>((resolve, reject) => {
    greeting = [
      setTimeout(() => startWaiting(new RedisError('silent', 'no greeting')), greetingMs),
      setTimeout(() => void lookAtTls(), TLS_DOUBT_MS),
    ];
    function startWaiting(error: Error): void {
      if (state !== 'greeting') return;
      state = 'lost';
      settle();
      report(error);
      resolve();
    }
    function refuse(error: Error): void {
      if (state === 'greeting') {
        settle();
        reject(settingFailure(address, error));
      } else report(error);
    }
    async function lookAtTls(): Promise<void> {
      const mismatch = await tlsMismatch(target);
      if (mismatch && state !== 'up' && state !== 'ended') refuse(mismatch);
    }
    client.on('ready', () => {
      if (state === 'ended') return;
      state = 'up';
      latest = undefined;
      settle();
      resolve();
      onUp();
    });
    client.on('close', () => {
      if (state !== 'up') return;
      state = 'lost';
      latest = new RedisError('lost', 'the connection was closed');
      report(latest);
    });
    client.on('error', (error: Error) => {
      if (isRefusal(error)) {
        latest = error;
        return refuse(error);
      }
      const way = new RedisError('unreachable', error.message);
      latest = way;
      if (state === 'greeting') void lookAtTls().then(() => startWaiting(way));
    });
  });

  async function answer(work: Promise<unknown>): Promise<void> {
    if (!(await within(answerMs, work))) throw new RedisError('silent', `no answer in ${answerMs} ms`);
  }

  return {
    client,
    isUp: () => state === 'up',
    greeted,
    async trial() {
      if (clients.some(({ status }) => status !== 'ready' && status !== 'end'))
        throw (
          (await tlsMismatch(target)) ?? latest ?? new RedisError('lost', 'not every connection is there')
        );
      // One that was left without an answer is waited for again, lest they pile up.
      writing ??= takesWrites().finally(() => {
        writing = undefined;
      });
      await answer(writing);
    },
    async look() {
      if (state !== 'up') return;
      await answer(client.ping()).catch(report);
    },
    disconnect() {
      state = 'ended';
      settle();
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
 * Writes as the queue does: by a script that is called by its digest. The key is gone after a minute.
 * @returns what rejects where Redis does not take it.
 */
export function writesTo(client: Redis, prefix: string): () => Promise<unknown> {
  client.defineCommand('marketMirrorTrial', {
    numberOfKeys: 1,
    lua: "return redis.call('SET', KEYS[1], '1', 'PX', 60000)",
  });
  const { marketMirrorTrial } = client as Redis & { marketMirrorTrial(key: string): Promise<unknown> };
  return () => marketMirrorTrial.call(client, `${prefix}:trial`);
}

/** Whether `work` ended within `ms`. Its failure is thrown. */
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

/** What `work` comes to, unless `signal` is aborted first: then its reason is thrown. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return await work;
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
