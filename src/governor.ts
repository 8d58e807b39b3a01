/**
 * The rate limiter: every request to the API waits here for a permit. A permit is one short transaction on the state that all processes
 * share, a response is another; `governor/machine.ts` decides.
 */

import { type Clock, isoTime, type Random } from './base/clock.ts';
import { Failure, Snooze, type WaitReason } from './base/errors.ts';
import type { AccountLimits } from './config/values.ts';
import { govern, isSameSet } from './governor/machine.ts';
import {
  type Decision,
  type Event,
  type KeyMark,
  type RequestOutcome,
  readState,
  type State,
} from './governor/state.ts';

export type { RequestOutcome } from './governor/state.ts';

/** Tells how a request ended; called once. The responses of one job may overtake each other. */
export type CompleteRequest = (outcome: RequestOutcome) => void;

export type Governor = {
  /**
   * Resolves when one request of `job` may be sent, to what must be called once it has ended.
   * @throws Snooze where the wait is longer than `longestWaitMs`; Failure `key` where the API refuses the key;
   * the signal's reason when it is aborted; what reading the job's lag or the state throws.
   */
  acquire(job: string, signal: AbortSignal): Promise<CompleteRequest>;
  keyChanged(): void;
  /** Whether a request of `job` waits in `acquire`. */
  waits(job: string): boolean;
  /** Wakes nobody any more. */
  close(): void;
};

/** Changes the kept state (undefined at first) in one transaction; keeps nothing where there is no `state`. */
export type Transact = <Result>(change: (kept: unknown) => { state?: State; result: Result }) => Result;

export type GovernorParts = {
  transact: Transact;
  clock: Clock;
  random: Random;
  /** The name of this process. */
  owner: string;
  longestWaitMs: number;
  /** The limits that the user knows. */
  limits?: AccountLimits;
  /** Whether another owner is known to have ended. */
  isGone?: (owner: string) => boolean;
  /** A few digits of the key's digest with `salt`: a refused key is not tried again at every start. */
  keyDigest?: (salt: string) => string;
  /** Whether to try at once what was refused or failed: a person asks for it. */
  retryRefused?: boolean;
  /** How far behind a job's data is: the waiter furthest behind goes first. */
  lag?: (job: string) => number;
  /** Gets what is worth a line in the log. */
  say?: (job: string, text: string) => void;
};

/** A request that waits in `acquire`; before `notBefore` no permit is asked for it. */
type Waiter = {
  job: string;
  notBefore: number;
  go(complete: CompleteRequest): void;
  refuse(reason: unknown): void;
};

const unlimited: AccountLimits = { quota: null, rate: null, concurrency: null };
/** Waits that are the same for every job. */
const ACCOUNT_WIDE: ReadonlySet<WaitReason> = new Set(['rate', 'concurrency', 'retry_after']);
/** Why a nap ends early; a text, since making an error is slow. */
const CANCELLED = 'cancelled';
/** Whether a process lives is looked up so often. */
const LIVES_MS = 1_000;

export function createGovernor(parts: GovernorParts): Governor {
  const { transact, clock, random, owner, longestWaitMs, keyDigest } = parts;
  const { limits = unlimited, isGone = () => false, lag = () => 0 } = parts;
  const waiters: Waiter[] = [];
  let nap: { until: number; cancel(): void } | undefined;
  let mayRetryRefused = parts.retryRefused ?? false;
  let lives = new Map<string, boolean>();
  let livesAt = Number.NEGATIVE_INFINITY;

  return {
    acquire(job, signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const leave = () => {
          const at = waiters.indexOf(waiter);
          if (at >= 0) waiters.splice(at, 1);
          signal.removeEventListener('abort', abort);
        };
        const waiter: Waiter = {
          job,
          notBefore: Number.NEGATIVE_INFINITY,
          go(complete) {
            leave();
            resolve(complete);
          },
          refuse(reason) {
            leave();
            reject(reason);
          },
        };
        const abort = () => waiter.refuse(signal.reason);
        waiters.push(waiter);
        signal.addEventListener('abort', abort);
        serve();
      });
    },

    keyChanged: () => void tell({ type: 'key' }),

    waits: (job) => waiters.some((waiter) => waiter.job === job),

    close: () => nap?.cancel(),
  };

  /** Serves the waiters, the one furthest behind first, until none can go now; then naps until one may. */
  function serve(): void {
    for (let waiter = next(); waiter; waiter = next())
      try {
        const decision = ask(waiter.job);
        if ('id' in decision) waiter.go(completing(waiter.job, decision.id));
        else defer(waiter, decision);
      } catch (reason) {
        waiter.refuse(reason);
      }
    if (waiters.length > 0) napUntil(Math.min(...waiters.map(({ notBefore }) => notBefore)));
  }

  /** The waiter furthest behind for which a permit may be asked. One whose lag cannot be read is refused. */
  function next(): Waiter | undefined {
    const now = clock.now();
    let first: { waiter: Waiter; behind: number } | undefined;
    for (const waiter of [...waiters]) {
      // The clock was set back if a wait is longer than the longest.
      if (waiter.notBefore > now && waiter.notBefore <= now + longestWaitMs) continue;
      if (waiters.length === 1) return waiter;
      try {
        const behind = lag(waiter.job);
        if (!first || behind > first.behind) first = { waiter, behind };
      } catch (reason) {
        waiter.refuse(reason);
      }
    }
    return first?.waiter;
  }

  function ask(job: string): Exclude<Decision, { say: unknown }> {
    return transact((kept) => {
      const now = clock.now();
      let state = readState(kept, now);
      if (mayRetryRefused) [state] = govern(state, { type: 'again' }, now);
      if (isOtherKey(state)) [state] = govern(state, { type: 'key' }, now);
      const gone = [...new Set(state.inFlight.map((request) => request.owner))].filter(hasEnded);
      const [after, decision] = govern(state, { type: 'ask', owner, job, set: limits, gone }, now);
      const isChanged =
        'id' in decision || mayRetryRefused || gone.length > 0 || !isSameSet(state.set, limits);
      mayRetryRefused = false;
      return { ...(isChanged && { state: after }), result: decision as ReturnType<typeof ask> };
    });
  }

  function hasEnded(other: string): boolean {
    if (other === owner) return false;
    if (Math.abs(clock.now() - livesAt) >= LIVES_MS) [lives, livesAt] = [new Map(), clock.now()];
    const known = lives.get(other) ?? !isGone(other);
    lives.set(other, known);
    return !known;
  }

  /** Whether a key was refused that is not ours. */
  function isOtherKey({ refusedKey }: State): boolean {
    return refusedKey !== null && keyDigest !== undefined && keyDigest(refusedKey.salt) !== refusedKey.digest;
  }

  function completing(job: string, id: number): CompleteRequest {
    return (outcome) => {
      const say = tell({ type: 'response', id, roll: random(), key: markKey(outcome), ...outcome });
      if (say) parts.say?.(job, say);
      serve();
    };
  }

  function markKey({ status }: RequestOutcome): KeyMark | null {
    if (status !== 401 && status !== 403) return null;
    const salt = random().toString(36);
    return keyDigest ? { salt, digest: keyDigest(salt) } : null;
  }

  /** An error of the store comes again with the next request; what it did not learn of this one counts as spent in time. */
  function tell(event: Event): string | null {
    try {
      return transact((kept) => {
        const now = clock.now();
        const [state, decision] = govern(readState(kept, now), event, now);
        return { state, result: 'say' in decision ? decision.say : null };
      });
    } catch {
      return null;
    }
  }

  /** Makes the request wait, with all others that the reason concerns. @throws where the wait is too long. */
  function defer(waiter: Waiter, decision: Exclude<Decision, { id: number } | { say: unknown }>): void {
    if ('refused' in decision) throw keyFailure(waiter.job, decision);
    const { until, reason } = decision;
    if (until - clock.now() > longestWaitMs) throw new Snooze(until, reason);
    for (const one of ACCOUNT_WIDE.has(reason) ? waiters : [waiter])
      one.notBefore = Math.max(one.notBefore, until);
  }

  function napUntil(until: number): void {
    if (nap?.until === until) return;
    nap?.cancel();
    const wake = () => {
      nap = undefined;
      // They have waited, even if the clock was set back meanwhile.
      for (const waiter of waiters)
        if (waiter.notBefore <= until) waiter.notBefore = Number.NEGATIVE_INFINITY;
      serve();
    };
    const cancelled = new AbortController();
    nap = { until, cancel: () => cancelled.abort(CANCELLED) };
    clock.sleep(Math.max(0, until - clock.now()), cancelled.signal).then(wake, () => undefined);
  }
}

function keyFailure(job: string, { refused, until }: Extract<Decision, { refused: unknown }>): Failure {
  const what =
    refused === 'scope'
      ? `${job}: the key lacks the scope for this endpoint, or may not be used from this address`
      : 'the API refused the key';
  const when = `it is tried again at ${isoTime(until)}`;
  return new Failure('key', `${what}; ${when}; to try now, set another key or run market-mirror doctor`);
}
