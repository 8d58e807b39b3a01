/** One text in Redis, replaced only by a process that has read its latest revision, with the time by Redis's clock. */

import { Redis } from 'ioredis';
import type { RedisTarget } from '../config.ts';
import { isConnectionError, isRefusal, RedisError, tlsMismatch, within } from '../redis.ts';

/** `now`: the time by Redis's clock, in epoch milliseconds. `revision` and `text` are empty where nothing lies there. */
type RemoteText = { now: number; revision: string; text: string };

type RemoteState = {
  read(): Promise<RemoteText>;
  /** Replaces the text if its revision is `expected`; else returns the text that lies there. */
  replace(expected: string, revision: string, text: string): Promise<RemoteText & { isDone: boolean }>;
  close(): void;
};

/** To connect, and to answer: a later answer would have an old time. */
const ANSWER_MS = 2_000;

// Revisions are random, so that one lost by a failover is never taken for another.
const script = `
local time = redis.call('TIME')
local seen = redis.call('HMGET', KEYS[1], 'revision', 'account')
if ARGV[1] and (seen[1] or '') == ARGV[1] then
  redis.call('HSET', KEYS[1], 'revision', ARGV[2], 'account', ARGV[3])
  return {1, time[1], time[2], '', ''}
end
return {0, time[1], time[2], seen[1] or '', seen[2] or ''}`;

type Reply = [isDone: number, seconds: string, microseconds: string, revision: string, text: string];
type Client = Redis & { marketMirrorAccount(key: string, ...replacement: string[]): Promise<Reply> };

export function openRemoteState(target: RedisTarget, key: string): RemoteState {
  let client: Client | undefined;

  /** Connects where needed, and drops a connection that failed: nothing is sent a second time. */
  async function exchange(...replacement: string[]): Promise<RemoteText & { isDone: boolean }> {
    // An idle connection may be closed: that is no problem.
    if (client?.status === 'end') drop();
    client ??= open(target);
    const used = client;
    try {
      if (used.status === 'wait') await greet(used, target);
      const reply = await within(ANSWER_MS, used.marketMirrorAccount(key, ...replacement));
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

  return { read: () => exchange(), replace: exchange, close: drop };
}

function open(target: RedisTarget): Client {
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

async function greet(client: Redis, target: RedisTarget): Promise<void> {
  const errors: Error[] = [];
  client.on('error', (error: Error) => void errors.push(error));
  try {
    await within(ANSWER_MS, client.connect());
  } catch (thrown) {
    const refusal = errors.find(isRefusal);
    if (refusal) throw refusal;
    const mismatch = await tlsMismatch(target);
    if (mismatch || thrown instanceof RedisError) throw mismatch ?? thrown;
    const [first = thrown as Error] = errors;
    throw new RedisError('unreachable', first.message);
  }
}
