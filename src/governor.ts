/**
 * The rate limiter: every request to the API waits here for a permit. This file queues the waiters, and waits where that is short; a
 * pure machine on a shared state decides whether a request may be sent (`governor/permits.ts`).
 */

import { isoTime } from './clock.ts';
import { Failure, Snooze, type WaitReason } from './errors.ts';
import { createLease, type InFlightRequest, type LeaseParts, type RequestOutcome } from './governor/lease.ts';
import type { PrefetchOptions, RefusedDecision, WaitDecision } from './governor/state.ts';

export type { Change, RequestOutcome, Transact } from './governor/lease.ts';

/** Tells how a request ended; called once. The responses of one job may overtake each other. */
export type CompleteRequest = (outcome: RequestOutcome) => void;

export type CallOptions = PrefetchOptions & {
  /** Called where the governor makes the request wait, but not where it only waits for another of ours. Its error is thrown. */
  onWait?: () => void;
};

export type Governor = {
  /**
   * Resolves when one request of `job` may be sent, to what must be called once it has ended. A prefetch needs budget, and goes last.
   * @throws Snooze where the wait is longer than `longestWaitMs`; Failure `key` where the API refuses the key;
   * the signal's reason when it is aborted; what reading the job's lag or the state throws.
   */
  acquire(job: string, signal: AbortSignal, options?: CallOptions): Promise<CompleteRequest>;
  /** Takes one from the prefetch budget; false where none is left. `endPrefetch` must follow. */
  reservePrefetch(): boolean;
  /** @param isRefunded whether the prefetch was needed, or not sent; else it was wasted. */
  endPrefetch(isRefunded: boolean): void;
  keyChanged(): void;
  /** The clock was set, or the machine slept: measurements across that are forgotten, and all waiters ask anew. */
  clockJumped(): void;
  /** Whether a request of `job` whose turn has come waits in `acquire`. */
  waits(job: string): boolean;
  /** Gives unused permits back and keeps what was learnt. */
  close(): Promise<void>;
};

export type GovernorParts = LeaseParts & {
  longestWaitMs: number;
  /** How far behind a job's data is: the waiter furthest behind goes first. */
  lag?: (job: string) => number;
};

/** A request that waits in `acquire`; before `notBefore` no permit is asked for it. */
type Waiter = {
  job: string;
  options: CallOptions;
  notBefore: number;
  go(request: InFlightRequest): void;
  refuse(reason: unknown): void;
};

/** Waits that are the same for every job. */
const ACCOUNT_WIDE: ReadonlySet<WaitReason> = new Set(['rate', 'concurrency', 'retry_after']);
/** Short waits, for which a prefetch stays. */
const BRIEF: ReadonlySet<WaitReason> = new Set(['rate', 'concurrency']);
/** A process without requests reports its pending events after so long. */
const IDLE_MS = 250;
/** Before a remote state that is out of reach is tried again. */
const OUT_OF_REACH_MS = 2_000;
/** Why a sleep is aborted; a text, since making an error is slow. */
const CANCELLED = 'cancelled';

export function createGovernor(parts: GovernorParts): Governor {
  const { clock, longestWaitMs, lag = () => 0 } = parts;
  const lease = createLease(parts);
  const waiters: Waiter[] = [];
  let nap: { until: number; cancel(): void } | undefined;
  let cancelIdle: (() => void) | undefined;
  /** The waiter for which a permit is being asked. One place in flight is kept free for it. */
  let asking: Waiter | undefined;
  let isClosed = false;
  let isOutOfReach = false;

  return {
    acquire(job, signal, options = {}) {
      return new Promise((resolve, reject) => {
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
          go(request) {
            leave();
            resolve((outcome) => {
              if (lease.complete(request, outcome)) report();
              serve();
            });
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

    reservePrefetch: lease.reservePrefetch,

    endPrefetch(isRefunded) {
      lease.endPrefetch(isRefunded);
      if (waiters.length === 0) tidyWhenIdle();
    },

    keyChanged() {
      lease.noteForAll({ type: 'key' });
      report();
    },

    clockJumped() {
      for (const waiter of waiters) waiter.notBefore = 0;
      // A remote state lives by another clock.
      if (!parts.isRemote) {
        lease.noteForAll({ type: 'clock' });
        report();
      }
      serve();
    },

    waits: (job) => waiters.some((waiter) => waiter.job === job && !waiter.options.isPrefetch),

    async close() {
      isClosed = true;
      nap?.cancel();
      cancelIdle?.();
      lease.giveAllBack();
      await lease.report();
    },
  };

  /** Serves the waiters, the one furthest behind first, until none can go now; then naps until one may. */
  function serve(): void {
    for (let waiter = next(); waiter; waiter = next()) {
      const request = lease.take(waiter.job, waiter.options);
      if (request) waiter.go(request);
      else void ask(waiter);
    }
    // The waiters are served again after the decision.
    if (lease.isAsking()) return;
    // Waiters that wait only for requests in flight are served when one of those ends.
    const timed = lease.isFullOfPrefetches() ? waiters.filter(({ options }) => !options.isPrefetch) : waiters;
    if (timed.length > 0) napUntil(Math.min(...timed.map(({ notBefore }) => notBefore)));
    else if (waiters.length === 0 && lease.hasPending()) tidyWhenIdle();
  }

  /** The waiter furthest behind for which a permit is held or may be asked; prefetches come last. */
  function next(): Waiter | undefined {
    if (lease.isFull(asking && !isOutOfReach ? 1 : 0)) return undefined;
    const now = clock.now();
    // The clock was set back if a wait is longer than the longest.
    for (const waiter of waiters) if (waiter.notBefore > now + longestWaitMs) waiter.notBefore = 0;
    const mayAsk = !lease.isAsking();
    const able = waiters.filter(
      ({ job, options, notBefore }) => lease.canTake(job, options) || (mayAsk && notBefore <= now),
    );
    const inTurn = able.filter(({ options }) => !options.isPrefetch);
    if (inTurn.length === 0) return lease.isFullOfPrefetches() ? undefined : able[0];
    const isOfOneJob = inTurn.every(({ job }) => job === inTurn[0]?.job);
    return isOfOneJob ? inTurn[0] : furthestBehind(inTurn);
  }

  /** A waiter whose lag cannot be read is refused. */
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

  /** Makes the request wait, with all others that the reason concerns. @throws where the wait is too long. */
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

  /** Reports the pending events. After an error they stay pending, and the next request meets that error. */
  function report(): void {
    void withinReach(lease.report()).then(serve, serve);
  }

  /** Awaits an exchange with the state. Where that takes longer than the longest wait, all waiters are refused. */
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
      // They have waited, even if the clock was set back meanwhile.
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

  /** An idle process reports its events and gives back its permits. */
  function tidyWhenIdle(): void {
    if (cancelIdle || isClosed) return;
    cancelIdle = sleepThen(IDLE_MS, () => {
      cancelIdle = undefined;
      if (waiters.length > 0) return;
      lease.giveAllBack();
      report();
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
