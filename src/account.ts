/** One account of several machines: the governor's state lies in a Redis that they share. Without that Redis there is no request. */

import { randomUUID } from 'node:crypto';
import { openRemoteState } from './account/remote-state.ts';
import { backoffMs } from './backoff.ts';
import { type Clock, HOUR_MS, isoTime, type Random } from './clock.ts';
import { parseRedisUrl } from './config.ts';
import { Failure, toError } from './errors.ts';
import {
  afterJump,
  CLOCK_JUMP_MS,
  isNewer,
  readState,
  type State,
  type StateCopy,
  shiftTimes,
} from './governor/state.ts';
import type { Change, Transact } from './governor.ts';
import { hasEnded, nameProcess } from './process-name.ts';
import { addressOf, diagnose, isOfSettings, RedisError, type RedisProblem, saysMore } from './redis.ts';

/** Why no request is made, and since when, ISO 8601 UTC. */
export type AccountProblem = RedisProblem & { since: string };

/** The table in which a mirror keeps its own copy of the account's state. */
type CopyStore = { read(): unknown; keep(copy: StateCopy): void };

/** What `createGovernor` needs of a shared state. */
export type Account = {
  /** Changes the state exactly once; waits for a Redis that is away. @throws what `change` throws; and once the account is closed. */
  transact: Transact;
  isRemote: true;
  /** The name of this process. */
  owner: string;
  isGone(owner: string): boolean;
  /** Ends once `last` is done, or could not be within a second. */
  close(last?: Promise<void>): Promise<void>;
};

export type AccountParts = {
  name: string;
  redisUrl: string;
  copy: CopyStore;
  clock: Clock;
  random: Random;
  /** Called with why no request is made, and with null when that is over. */
  onProblem?: (problem: AccountProblem | null) => void;
  /** Whether the start, too, waits for a Redis that is away. */
  isPatient?: boolean;
  /** Reads the time of Redis, which tests let pass faster. */
  timeOf?: (ms: number) => number;
};

/** When another process wrote first so many times, the state counts as contended. */
const MAX_CONFLICTS = 12;
/** Between two tries. */
const RETRY_PAUSES = { firstMs: 50, longestMs: 2_000 };
const CLOSE_MS = 1_000;

/** @throws Failure `config` where waiting does not help, such as a wrong password; `incomplete` for a Redis that is away, unless patient. */
export async function openAccount(parts: AccountParts): Promise<Account> {
  const { name, clock, random, onProblem = () => undefined, timeOf = (ms) => ms } = parts;
  const target = parseRedisUrl(parts.redisUrl);
  const remote = openRemoteState(target, keyOf(name));
  const copy = openCopy(parts.copy, name, clock);
  const owner = nameProcess(random);
  const hasJumpedTo = watchJumps(clock);
  const closing = new AbortController();
  let changes = 0;
  let hasJumped = false;
  let problem: AccountProblem | null = null;

  const transact = async <T>(change: Change<T>): Promise<T> => {
    changes += 1;
    const id = `${changes}`;
    for (let failures = 0; ; failures += 1) {
      closing.signal.throwIfAborted();
      try {
        const result = await changeOnce(id, change);
        if (problem) onProblem(null);
        problem = null;
        return result;
      } catch (thrown) {
        closing.signal.throwIfAborted();
        if (thrown instanceof ChangeError) throw thrown.cause;
        noteProblem(problemOf(thrown));
        await clock.sleep(backoffMs(failures + 1, RETRY_PAUSES, random()), closing.signal);
      }
    }
  };

  /** One try. If an earlier one was made, but its answer lost, Redis has the result. */
  async function changeOnce<T>(id: string, change: Change<T>): Promise<T> {
    let current = await remote.read();
    for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
      const shared = parseShared(current.text);
      const last = shared.processes[owner];
      if (last?.change === id) return last.result as T;
      const now = timeOf(current.now);
      hasJumped = hasJumpedTo(now) || hasJumped;
      const known = shared.state ?? copy.seed(now);
      const { state, result } = apply(change, hasJumped ? afterJump(readState(known), now) : known, now);
      const processes = { ...heardLately(shared, now), [owner]: { heardAt: now, change: id, result } };
      const written = await write(current.revision, { version: VERSION, state, processes });
      if (written.isDone) {
        hasJumped = false;
        copy.note(state, Object.keys(processes).length, now);
        return result;
      }
      current = written;
      if (conflicts === 0) continue;
      await clock.sleep(random() * 2 ** conflicts, closing.signal);
      current = await remote.read();
    }
    throw new RedisError('contended', `${MAX_CONFLICTS} conflicts`);
  }

  const write = (revision: string, shared: SharedState) =>
    remote.replace(revision, randomUUID(), JSON.stringify(shared));

  function noteProblem(found: RedisProblem): void {
    if (problem && !saysMore(found, problem)) return;
    problem = { ...found, since: problem?.since ?? isoTime(clock.now()) };
    onProblem(problem);
  }

  /** Takes this process from the list. If another one writes just then, it stays there for some time. */
  async function leave(): Promise<void> {
    const { revision, text } = await remote.read();
    if (!text) return;
    const shared = parseShared(text);
    const { [owner]: _, ...processes } = shared.processes;
    await write(revision, { ...shared, processes });
  }

  function end(): void {
    closing.abort(new Failure('incomplete', `account ${name}: closed`));
    remote.close();
    copy.close();
  }

  try {
    // A trial write.
    await changeOnce('0', (kept) => ({ state: readState(kept), result: null }));
  } catch (thrown) {
    const found = problemOf(thrown);
    if (isOfSettings(found) || !parts.isPatient) {
      end();
      throw failureOf(name, addressOf(target), found);
    }
    noteProblem(found);
  }
  return {
    transact,
    isRemote: true,
    owner,
    isGone: hasEnded,
    async close(last) {
      const late = new AbortController();
      const left = Promise.resolve(last).then(() => (problem ? undefined : leave()));
      await Promise.race([left, clock.sleep(CLOSE_MS, late.signal)]).catch(() => undefined);
      late.abort();
      end();
    },
  };
}

/** How many processes share the account; null where nothing is known of it. @throws Failure as `openAccount` does. */
export async function examineAccount({
  name,
  redisUrl,
}: Pick<AccountParts, 'name' | 'redisUrl'>): Promise<{ processes: number | null }> {
  const target = parseRedisUrl(redisUrl);
  const remote = openRemoteState(target, keyOf(name));
  try {
    const { text } = await remote.read();
    return { processes: text === '' ? null : Object.keys(parseShared(text).processes).length };
  } catch (thrown) {
    throw failureOf(name, addressOf(target), problemOf(thrown));
  } finally {
    remote.close();
  }
}

/** Keys of queues begin otherwise. */
const keyOf = (name: string) => `market-mirror:limits:${name}`;

/** The JSON in Redis: the governor's state, and the processes that share it. */
type SharedState = {
  version: typeof VERSION;
  /** Absent where nothing is known yet. */
  state?: unknown;
  processes: Record<string, SharedProcess>;
};

/** A process: when it last wrote, by Redis's clock; its last change, and the result of that. */
type SharedProcess = { heardAt: number; change: string; result: unknown };

const VERSION = 3;
/** A process that is silent for so long is no longer counted. */
const SILENT_MS = HOUR_MS;

/** Anything but our JSON counts as nothing. @throws RedisError `newer` for a state of a newer release. */
function parseShared(text: string): SharedState {
  const shared = parseObject(text) as Partial<Omit<SharedState, 'version'>> & { version?: unknown };
  if (Number(shared.version) > VERSION || isNewer(shared.state))
    throw new RedisError('newer', 'its state is of a newer version');
  const isWhole = shared.version === VERSION && isObject(shared.processes);
  return isWhole ? (shared as SharedState) : { version: VERSION, processes: {} };
}

function parseObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

function heardLately({ processes }: SharedState, now: number): SharedState['processes'] {
  return Object.fromEntries(Object.entries(processes).filter(([, { heardAt }]) => now - heardAt < SILENT_MS));
}

/** The change itself failed, not Redis: it is not tried again. */
class ChangeError extends Error {}

function apply<T>(change: Change<T>, kept: unknown, now: number): ReturnType<Change<T>> {
  try {
    return change(kept, now);
  } catch (cause) {
    throw new ChangeError('the change failed', { cause });
  }
}

/** Readers look at the copy at most so often. */
const COPY_EVERY_MS = 1_000;

/** The mirror's own copy of the account's state, for its readers, and for a Redis that has lost it. */
function openCopy(store: CopyStore, account: string, clock: Clock) {
  let latest: StateCopy | undefined;
  let keptAt = Number.NEGATIVE_INFINITY;
  let cancel: (() => void) | undefined;

  function keep(): void {
    cancel?.();
    cancel = undefined;
    if (!latest) return;
    try {
      store.keep(latest);
    } catch {
      // The mirror, which writes all the time, reports the error.
    }
    latest = undefined;
    keptAt = clock.monotonic();
  }

  return {
    /**
     * The copy as a first state for Redis, whose clock says `now`; undefined where it is of another account. Leases are left out:
     * each process says what it holds when it asks.
     */
    seed(now: number): State | undefined {
      const copy = store.read() as Partial<StateCopy> | null | undefined;
      if (!copy || (copy.account && copy.account.name !== account)) return undefined;
      return { ...shiftTimes(readState(copy), now - clock.now()), leases: {} };
    },

    /** Notes the state as of `now` by the clock of Redis. */
    note(state: State, processes: number, now: number): void {
      const at = clock.now();
      latest = { ...shiftTimes(state, at - now), account: { name: account, processes, heardAt: at } };
      if (clock.monotonic() - keptAt >= COPY_EVERY_MS) keep();
      else cancel ??= clock.after(COPY_EVERY_MS, keep);
    },

    close: keep,
  };
}

/**
 * Returns what says whether the clock of Redis jumped since the last call: it was set, or another Redis took over. While it agrees
 * with one of our clocks, our other one was set, or slept.
 */
export function watchJumps(clock: Clock): (remoteNow: number) => boolean {
  let last: number[] | undefined;
  return (remoteNow) => {
    const before = last;
    last = [remoteNow - clock.now(), remoteNow - clock.monotonic()];
    return (
      before !== undefined && last.every((lead, at) => Math.abs(lead - (before[at] ?? 0)) > CLOCK_JUMP_MS)
    );
  };
}

function problemOf(thrown: unknown): RedisProblem {
  const error = toError(thrown);
  const found = diagnose(error);
  return found.code === 'other' ? { ...found, message: `Redis answers ${error.message}` } : found;
}

/** The failure of a command that cannot begin without the limits. */
function failureOf(name: string, address: string, found: RedisProblem): Failure {
  const { message, advice } = found;
  const kind = isOfSettings(found) ? 'config' : 'incomplete';
  return new Failure(
    kind,
    `MIRROR_ACCOUNT ${name}: ${message} (${address}), and no call is made without the account's limits: ${advice}`,
  );
}
