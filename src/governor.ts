/**
 * The rate limiter: every request to the API waits here for a permit. This file queues those who wait and sits out short
 * waits; whether a request may be sent is decided by a pure machine on a shared state (`governor/permits.ts`).
 */

import { isoTime } from './clock.ts';
import { Failure, Snooze, type WaitReason } from './errors.ts';
import { createLease, type LeaseParts, type RequestOutcome } from './governor/lease.ts';
import type { PrefetchOptions, RefusedDecision, WaitDecision } from './governor/state.ts';

export type { Change, RequestOutcome, Transact } from './governor/lease.ts';

export type CallOptions = PrefetchOptions & {
  /**
   * Called where the governor makes the request wait, be it for quota, rate or anything else; not where it only follows
   * one of ours in flight. What it throws is thrown.
   */
  onWait?: () => void;
};

export type Governor = {
  /**
   * Resolves when one request of `job` may be sent; `complete` must follow. A prefetch needs budget, and goes after all
   * others that wait.
   * @throws Snooze where the wait is longer than `longestWaitMs`; Failure `key` where the API refuses the key;
   * the signal's reason when it is aborted; what reading the job's lag or the state throws.
   */
  acquire(job: string, signal: AbortSignal, options?: CallOptions): Promise<void>;
  /** The request has ended. */
  complete(job: string, outcome: RequestOutcome): void;
  /** Takes one of the prefetch budget; false where none is left. `endPrefetch` must follow. */
  reservePrefetch(): boolean;
  /** Refunded where the prefetch proved needed or was not sent; else it was wasted. */
  endPrefetch(isRefunded: boolean): void;
  keyChanged(): void;
  /** The clock was set, or the machine slept: what was measured across that is forgotten, and all who wait ask anew. */
  clockJumped(): void;
  /** Whether a request of `job` whose turn has come waits in `acquire`. */
  waits(job: string): boolean;
  /** Gives unused permits back and keeps what was learnt. */
  close(): Promise<void>;
};

export type GovernorParts = LeaseParts & {
  longestWaitMs: number;
  /** How far behind a job's data is: of those that wait, the one furthest behind goes first. */
  lag?: (job: string) => number;
};

/** A request that waits in `acquire`; to ask for it before `notBefore` is of no use. */
type Waiter = {
  job: string;
  options: CallOptions;
  notBefore: number;
  go(): void;
  refuse(reason: unknown): void;
};

/** Waits that are the same for every job. */
const ACCOUNT_WIDE: ReadonlySet<WaitReason> = new Set(['rate', 'concurrency', 'retry_after']);
/** Short waits, which a prefetch sits out. */
const BRIEF: ReadonlySet<WaitReason> = new Set(['rate', 'concurrency']);
/** A process without requests tells what is pending after so long. */
const IDLE_MS = 250;
/** A remote state that is out of reach is tried again so soon. */
const OUT_OF_REACH_MS = 2_000;
/** A reason of its own, since making the usual one is dear. */
const CANCELLED = 'cancelled';

export function createGovernor(parts: GovernorParts): Governor {
  const { clock, longestWaitMs, lag = () => 0 } = parts;
  const lease = createLease(parts);
  const waiters: Waiter[] = [];
  let nap: { until: number; cancel(): void } | undefined;
  let cancelIdle: (() => void) | undefined;
  /** The waiter for which a permit is being asked. Its place in flight is kept free, lest another one take it. */
  let asking: Waiter | undefined;
  let isClosed = false;
  let isOutOfReach = false;

  return {
    acquire(job, signal, options = {}) {
      return new Promise<void>((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const leave = () => {
          const at = waiters.indexOf(waiter);
          if (at >= 0) waiters.splice(at, 1);
          signal.removeEventListener('abort', abort);
        };
        const waiter: Waiter = {
          job,
          options,
          notBefore: 0,
          go() {
            leave();
            resolve();
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
        if (isOutOfReach) refuseAll();
      });
    },

    complete(job, outcome) {
      if (lease.complete(job, outcome)) tell();
      serve();
    },

    reservePrefetch: lease.reservePrefetch,

    endPrefetch(isRefunded) {
      lease.endPrefetch(isRefunded);
      if (waiters.length === 0) tidyWhenIdle();
    },

    keyChanged() {
      lease.hear({ type: 'key' });
      tell();
    },

    clockJumped() {
      for (const waiter of waiters) waiter.notBefore = 0;
      // A remote state lives by another clock.
      if (!parts.isRemote) {
        lease.hear({ type: 'clock' });
        tell();
      }
      serve();
    },

    waits: (job) => waiters.some((waiter) => waiter.job === job && !waiter.options.isPrefetch),

    async close() {
      isClosed = true;
      nap?.cancel();
      cancelIdle?.();
      lease.giveAllBack();
      await lease.tellPending();
    },
  };

  /** Serves those who wait, the one furthest behind first, until none can go now; then naps until one may. */
  function serve(): void {
    for (let waiter = next(); waiter; waiter = next())
      if (lease.take(waiter.job, waiter.options)) waiter.go();
      else void ask(waiter);
    // Whoever waits is served again once the decision is there.
    if (lease.isAsking()) return;
    // Who is kept waiting by requests in flight alone goes when one of them ends.
    const timed = lease.isFullOfPrefetches() ? waiters.filter(({ options }) => !options.isPrefetch) : waiters;
    if (timed.length > 0) napUntil(Math.min(...timed.map(({ notBefore }) => notBefore)));
    else if (waiters.length === 0 && lease.hasNews()) tidyWhenIdle();
  }

  /** Of those for whom a permit is held or may be asked for, the one furthest behind, and prefetches last. */
  function next(): Waiter | undefined {
    if (lease.isFull(asking && !isOutOfReach ? 1 : 0)) return undefined;
    const now = clock.now();
    // A clock that was set back would make a wait longer than any that is sat out.
    for (const waiter of waiters) if (waiter.notBefore > now + longestWaitMs) waiter.notBefore = 0;
    const mayAsk = !lease.isAsking();
    const able = waiters.filter(
      ({ job, options, notBefore }) => lease.canTake(job, options) || (mayAsk && notBefore <= now),
    );
    const inTurn = able.filter(({ options }) => !options.isPrefetch);
    if (inTurn.length === 0) return lease.isFullOfPrefetches() ? undefined : able[0];
    return inTurn.length === 1 ? inTurn[0] : furthestBehind(inTurn);
  }

  /** A waiter whose lag cannot be read waits no longer. */
  function furthestBehind(able: readonly Waiter[]): Waiter | undefined {
    let first: { waiter: Waiter; behind: number } | undefined;
    for (const waiter of able)
      try {
        const behind = lag(waiter.job);
        if (!first || behind > first.behind) first = { waiter, behind };
      } catch (reason) {
        waiter.refuse(reason);
      }
    return first?.waiter;
  }

  async function ask(waiter: Waiter): Promise<void> {
    asking = waiter;
    try {
      const decision = await withinReach(lease.ask(waiter.job, waiter.options));
      if (waiters.includes(waiter) && !('permits' in decision) && !('noted' in decision))
        defer(waiter, decision);
    } catch (reason) {
      waiter.refuse(reason);
    }
    asking = undefined;
    serve();
  }

  /** Makes the request wait, with all others that the reason concerns. @throws where it is not worth waiting. */
  function defer(waiter: Waiter, decision: WaitDecision | RefusedDecision): void {
    if (!('wait' in decision)) throw keyFailure(waiter.job, decision);
    const { until, reason } = decision.wait;
    const now = clock.now();
    const isTooLong = until - now > longestWaitMs;
    if (isTooLong || (waiter.options.isPrefetch && !BRIEF.has(reason))) throw new Snooze(until, reason);
    const deferred = ACCOUNT_WIDE.has(reason) ? [...waiters] : [waiter];
    for (const one of deferred) one.notBefore = Math.max(one.notBefore, until, now + 1);
    for (const one of deferred)
      try {
        one.options.onWait?.();
      } catch (thrown) {
        one.refuse(thrown);
      }
  }

  /** Tells what is pending. Where that fails, it is told with the next request, which fails for the same reason. */
  function tell(): void {
    void withinReach(lease.tellPending()).then(serve, serve);
  }

  /** Awaits an exchange with the state. Once that takes longer than any wait that is sat out, all who wait are refused. */
  async function withinReach<T>(exchange: Promise<T>): Promise<T> {
    const giveUp = () => {
      isOutOfReach = true;
      refuseAll();
    };
    const cancel = Number.isFinite(longestWaitMs) ? clock.after(longestWaitMs, giveUp) : () => undefined;
    try {
      return await exchange;
    } finally {
      cancel();
      isOutOfReach = false;
    }
  }

  function refuseAll(): void {
    for (const waiter of [...waiters]) waiter.refuse(new Snooze(clock.now() + OUT_OF_REACH_MS, 'account'));
  }

  function napUntil(until: number): void {
    if (nap?.until === until || lease.isFull() || isClosed) return;
    nap?.cancel();
    const wake = () => {
      nap = undefined;
      // The clock may have been set back meanwhile: who has waited has waited.
      for (const waiter of waiters) if (waiter.notBefore <= until) waiter.notBefore = 0;
      serve();
    };
    nap = { until, cancel: sleepThen(Math.max(0, until - clock.now()), wake) };
  }

  /** Does `work` after the sleep. @returns what cancels both. */
  function sleepThen(ms: number, work: () => void): () => void {
    const cancelled = new AbortController();
    clock.sleep(ms, cancelled.signal).then(work, () => undefined);
    return () => cancelled.abort(CANCELLED);
  }

  /** A process that has nothing to do keeps nothing to itself, and no permits from the others. */
  function tidyWhenIdle(): void {
    if (cancelIdle || isClosed) return;
    cancelIdle = sleepThen(IDLE_MS, () => {
      cancelIdle = undefined;
      if (waiters.length > 0) return;
      lease.giveAllBack();
      tell();
    });
  }
}

function keyFailure(job: string, { refused, until }: RefusedDecision): Failure {
  const what =
    refused === 'forbidden'
      ? `${job}: the key lacks the scope for this endpoint, or may not be used from this address`
      : 'the API refused the key';
  const when = `it is tried again at ${isoTime(until)}`;
  return new Failure('key', `${what}; ${when}; to try now, set another key or run market-mirror doctor`);
}
