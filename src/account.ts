/**
 * One account of several machines: what the governor has learnt of it lies in a Redis that they share. Without an answer of
 * that Redis there is no permit, and so no call.
 */

import { randomUUID } from 'node:crypto';
import { jumpsOf } from './account/clock-of-redis.ts';
import { type CopyStore, createCopy } from './account/copy.ts';
import { readKept, withChange, without } from './account/kept.ts';
import { openPlace } from './account/place.ts';
import { failureOf, troubleOf } from './account/trouble.ts';
import { backoffMs } from './backoff.ts';
import { type Clock, isoTime, type Random } from './clock.ts';
import { Failure } from './errors.ts';
import type { Change, Transact } from './governor/gate.ts';
import { afterJump, readState } from './governor/state.ts';
import { hasEnded, nameProcess } from './process-name.ts';
import { addressOf, isOfSettings, parseRedisUrl, RedisError, type RedisProblem, saysMore } from './redis.ts';

export type { CopyStore } from './account/copy.ts';

/** Why no call is made, and since when, ISO 8601 UTC. */
export type AccountTrouble = RedisProblem & { since: string };

export type Account = {
  /**
   * Changes the state once, however often it has to be tried: it waits for a Redis that is away.
   * @throws what `change` throws; and once the account is closed.
   */
  transact: Transact;
  /** Names this process among those that share the account. */
  owner: string;
  isGone(owner: string): boolean;
  /** Ends once `last` has been told, or could not be within a second. */
  close(last?: Promise<void>): Promise<void>;
};

export type AccountParts = {
  name: string;
  redisUrl: string;
  copy: CopyStore;
  clock: Clock;
  random: Random;
  /** Told why no call is made, once, and of the end of that by null. */
  tell?: (trouble: AccountTrouble | null) => void;
  /** A Redis that is away at the start is waited for, too. */
  isPatient?: boolean;
  /** Reads the time of Redis, which tests let pass faster. */
  timeOf?: (ms: number) => number;
};

/** Writers that meet so often are too many. */
const MOST_CONFLICTS = 12;
/** Between two tries, from the first on; not so long that one that is back is noticed late. */
const PAUSES = { firstMs: 50, longestMs: 2_000 };
const CLOSE_MS = 1_000;

/**
 * @throws Failure `config` where no waiting can help, such as a wrong password; `incomplete` for a Redis that is away, unless
 * that is waited for.
 */
export async function openAccount(parts: AccountParts): Promise<Account> {
  const { name, clock, random, tell = () => undefined, timeOf = (ms) => ms } = parts;
  const target = parseRedisUrl(parts.redisUrl);
  const place = openPlace(target, keyOf(name));
  const copy = createCopy(parts.copy, name, clock);
  const owner = nameProcess(random);
  const hasJumpedTo = jumpsOf(clock);
  const closing = new AbortController();
  let changes = 0;
  let hasJumped = false;
  let trouble: AccountTrouble | null = null;

  const transact = async <T>(change: Change<T>): Promise<T> => {
    changes += 1;
    const id = `${changes}`;
    for (let failures = 0; ; failures += 1) {
      closing.signal.throwIfAborted();
      try {
        const result = await changeOnce(id, change);
        if (trouble) tell(null);
        trouble = null;
        return result;
      } catch (thrown) {
        closing.signal.throwIfAborted();
        if (thrown instanceof ChangeFailed) throw thrown.cause;
        note(troubleOf(thrown));
        await clock.sleep(backoffMs(failures + 1, PAUSES, random()), closing.signal);
      }
    }
  };

  /** One try. Where an earlier one was made without our hearing of it, Redis knows what came of that. */
  async function changeOnce<T>(id: string, change: Change<T>): Promise<T> {
    let seen = await place.look();
    for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts += 1) {
      const kept = readKept(seen.text);
      const last = kept.processes[owner];
      if (last?.change === id) return last.result as T;
      const now = timeOf(seen.now);
      hasJumped = hasJumpedTo(now) || hasJumped;
      const known = kept.state ?? copy.seed(now);
      const { state, result } = made(change, hasJumped ? afterJump(readState(known), now) : known, now);
      const next = withChange(kept, owner, { heardAt: now, change: id, result }, state);
      const swapped = await place.swap(seen.revision, randomUUID(), JSON.stringify(next));
      if (swapped.isDone) {
        hasJumped = false;
        copy.note(state, Object.keys(next.processes).length, now);
        return result;
      }
      seen = swapped;
      if (conflicts === 0) continue;
      await clock.sleep(random() * 2 ** conflicts, closing.signal);
      seen = await place.look();
    }
    throw new RedisError('contended', `${MOST_CONFLICTS} conflicts`);
  }

  function note(found: RedisProblem): void {
    if (trouble && !saysMore(found, trouble)) return;
    trouble = { ...found, since: trouble?.since ?? isoTime(clock.now()) };
    tell(trouble);
  }

  async function leave(): Promise<void> {
    const { revision, text } = await place.look();
    // Where another one writes at that moment, this process is counted for some time yet.
    if (text) await place.swap(revision, randomUUID(), JSON.stringify(without(readKept(text), owner)));
  }

  function end(): void {
    closing.abort(new Failure('incomplete', `account ${name}: closed`));
    place.close();
    copy.close();
  }

  const account: Account = {
    transact,
    owner,
    isGone: hasEnded,
    async close(last) {
      const late = new AbortController();
      const told = Promise.resolve(last).then(() => (trouble ? undefined : leave()));
      await Promise.race([told, clock.sleep(CLOSE_MS, late.signal)]).catch(() => undefined);
      late.abort();
      end();
    },
  };
  try {
    // Writes, as every permit does.
    await changeOnce('0', (kept) => ({ state: readState(kept), result: null }));
  } catch (thrown) {
    const found = troubleOf(thrown);
    if (isOfSettings(found) || !parts.isPatient) {
      end();
      throw failureOf(name, addressOf(target), found);
    }
    note(found);
  }
  return account;
}

/**
 * How many processes share the account; null where nothing is known of it. Nothing is written.
 * @throws Failure as `openAccount` does, of a Redis that is away, too.
 */
export async function examineAccount({
  name,
  redisUrl,
}: Pick<AccountParts, 'name' | 'redisUrl'>): Promise<{ processes: number | null }> {
  const target = parseRedisUrl(redisUrl);
  const place = openPlace(target, keyOf(name));
  try {
    const { text } = await place.look();
    return { processes: text === '' ? null : Object.keys(readKept(text).processes).length };
  } catch (thrown) {
    throw failureOf(name, addressOf(target), troubleOf(thrown));
  } finally {
    place.close();
  }
}

/** Not Redis, but the change itself failed: to try it again would not help. */
class ChangeFailed extends Error {}

function made<T>(change: Change<T>, kept: unknown, now: number): ReturnType<Change<T>> {
  try {
    return change(kept, now);
  } catch (cause) {
    throw new ChangeFailed('the change failed', { cause });
  }
}

/** Keys of queues begin otherwise. */
const keyOf = (name: string) => `market-mirror:account:${name}`;
