/** The place in Redis where the state of an account lies: looked at, and replaced by who has seen the latest, by Redis's clock. */

import { Redis } from 'ioredis';
import { isConnectionError, isRefusal, RedisError, type Target, tlsMismatch } from '../redis.ts';

/** `now`: the time by Redis's clock, in epoch milliseconds. `revision` and `text` are empty where nothing lies there. */
export type Seen = { now: number; revision: string; text: string };

export type Place = {
  look(): Promise<Seen>;
  /** Puts `text` in the place of what bears the revision `seen`. Not done where another one lies there: that is seen then. */
  swap(seen: string, revision: string, text: string): Promise<Seen & { isDone: boolean }>;
  close(): void;
};

/** Milliseconds, to connect and to answer: whoever takes longer tells nothing of now. */
const ANSWER_MS = 2_000;

// One script looks and swaps. A revision is like no other, so that one that a failover has lost is never taken for another.
const script = `
local time = redis.call('TIME')
local seen = redis.call('HMGET', KEYS[1], 'revision', 'account')
if ARGV[1] and (seen[1] or '') == ARGV[1] then
  redis.call('HSET', KEYS[1], 'revision', ARGV[2], 'account', ARGV[3])
  return {1, time[1], time[2], '', ''}
end
return {0, time[1], time[2], seen[1] or '', seen[2] or ''}`;

type Reply = [isDone: number, seconds: string, microseconds: string, revision: string, text: string];
type Client = Redis & { marketMirrorAccount(key: string, ...swap: string[]): Promise<Reply> };

export function openPlace(target: Target, key: string): Place {
  let client: Client | undefined;

  /** A connection is made where it is needed, and dropped where it failed: nothing of it is sent a second time. */
  async function exchange(...swap: string[]): Promise<Seen & { isDone: boolean }> {
    // Redis and what lies between may close one that was idle for long: that is no trouble.
    if (client?.status === 'end') drop();
    client ??= open(target);
    const used = client;
    try {
      if (used.status === 'wait') await greet(used, target);
      const reply = await inTime(used.marketMirrorAccount(key, ...swap));
      const [isDone, seconds, microseconds, revision, text] = reply;
      const now = Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
      return { isDone: Number(isDone) === 1, now, revision, text };
    } catch (thrown) {
      if (used.status !== 'ready' || thrown instanceof RedisError || isConnectionError(thrown as Error))
        drop();
      throw thrown;
    }
  }

  function drop(): void {
    client?.disconnect();
    client = undefined;
  }

  return {
    look: () => exchange(),
    swap: exchange,
    close: drop,
  };
}

function open(target: Target): Client {
  const client = new Redis({
    ...target,
    lazyConnect: true,
    enableReadyCheck: false,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    connectTimeout: ANSWER_MS,
    disconnectTimeout: 500,
  });
  client.defineCommand('marketMirrorAccount', { numberOfKeys: 1, lua: script });
  return client as Client;
}

async function greet(client: Redis, target: Target): Promise<void> {
  const errors: Error[] = [];
  client.on('error', (error: Error) => void errors.push(error));
  try {
    await inTime(client.connect());
  } catch (thrown) {
    const refusal = errors.find(isRefusal);
    if (refusal) throw refusal;
    const mismatch = await tlsMismatch(target);
    if (mismatch || thrown instanceof RedisError) throw mismatch ?? thrown;
    const [first = thrown as Error] = errors;
    throw new RedisError('unreachable', first.message);
  }
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new RedisError('silent', `no answer in ${ANSWER_MS} ms`)), ANSWER_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
