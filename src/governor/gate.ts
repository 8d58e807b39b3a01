/** The one gate that every call passes: asks the state machine for permits and sits out short waits. */

import type { WaitReason } from '../errors.ts';
import { denial, outOfReach } from './denial.ts';
import type { Asking, Decision } from './events.ts';
import { type Answer, createOwner, type OwnerParts } from './owner.ts';

export type { Answer, Change, Transact } from './owner.ts';

/** How a call is asked for. `foreseen`: so many calls of the job will follow; `isAhead`: its own turn has not come. */
export type Manner = Pick<Asking, 'foreseen' | 'isAhead'> & {
  /**
   * Called where the governor makes it wait, be it for quota, pace or anything else; not where the call only follows one of
   * ours that is under way. What it throws is thrown.
   */
  held?: () => void;
};

export type Gate = {
  /**
   * Resolves when one call of `job` may be made; `settle` must follow. One that is asked ahead needs a stake, and goes after
   * all others that wait.
   * @throws Snooze where the wait is longer than `longestWaitMs`; Failure `key` where the API refuses the key;
   * the signal's reason when it is aborted; what reading the job's lag or the state throws.
   */
  pass(job: string, signal: AbortSignal, manner?: Manner): Promise<void>;
  settle(job: string, answer: Answer): void;
  /** Puts a stake on a call that is to be asked ahead; false where none may be. `unstake` must follow. */
  stake(): boolean;
  /** That call was needed or never made, and its stake comes back; or it was made for nothing. */
  unstake(comesBack: boolean): void;
  keyChanged(): void;
  /** The clock was set, or the machine slept: what was reckoned across that is forgotten, and who waits asks anew. */
  clockJumped(): void;
  /** Whether a call of `job` whose turn has come waits in `pass`. */
  waits(job: string): boolean;
  /** Gives unused permits back and keeps what was learnt; a promise where that lies elsewhere. */
  close(): Promise<void> | undefined;
};

export type GateParts = OwnerParts & {
  longestWaitMs: number;
  /** How far behind a job's data is: of those that wait, the one furthest behind goes first. */
  lag?: (job: string) => number;
};

/** A call that waits in `pass`: it is not worth asking for it again before `notBefore`. */
type Waiter = {
  job: string;
  manner: Manner;
  notBefore: number;
  go(): void;
  refuse(reason: unknown): void;
};

/** Waits that are the same for every job. */
const accountWide: ReadonlySet<WaitReason> = new Set(['rate', 'concurrency', 'retry_after']);
/** Short waits, which a call asked ahead sits out. */
const passing: ReadonlySet<WaitReason> = new Set(['rate', 'concurrency']);
/** Answers without news are kept back for so long at most, to be told together. */
const IDLE_MS = 250;
/** Ends a sleep; a reason of its own, since making the usual one is dear. */
const over = new Error('over');

export function createGate(parts: GateParts): Gate {
  const { clock, longestWaitMs, lag = () => 0 } = parts;
  const owner = createOwner(parts);
  const waiters: Waiter[] = [];
  let nap: { until: number; end: AbortController } | undefined;
  let idle: AbortController | undefined;
  let closed = false;
  let isOutOfReach = false;

  return {
    pass(job, signal, manner = {}) {
      return new Promise<void>((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const stop = () => {
          const at = waiters.indexOf(waiter);
          if (at >= 0) waiters.splice(at, 1);
          signal.removeEventListener('abort', drop);
        };
        const waiter: Waiter = {
          job,
          manner,
          notBefore: 0,
          go() {
            stop();
            resolve();
          },
          refuse(reason) {
            stop();
            reject(reason);
          },
        };
        const drop = () => waiter.refuse(signal.reason);
        waiters.push(waiter);
        serve();
        if (isOutOfReach) refuseAll();
        // Most go at once.
        if (waiters.includes(waiter)) signal.addEventListener('abort', drop);
      });
    },

    settle(job, answer) {
      try {
        serveAfter(owner.settle(job, answer));
      } finally {
        serve();
      }
    },

    stake: owner.stake,

    unstake(comesBack) {
      owner.unstake(comesBack);
      if (waiters.length === 0) tidyWhenIdle();
    },

    keyChanged() {
      serveAfter(owner.hear({ type: 'key' }));
      serve();
    },

    clockJumped() {
      for (const waiter of waiters) waiter.notBefore = 0;
      try {
        // A state that lies elsewhere lives by another clock.
        if (!parts.isElsewhere) serveAfter(owner.hear({ type: 'clock' }));
      } catch {
        // It is told with the next call, which fails for the same reason.
      }
      serve();
    },

    waits: (job) => waiters.some((waiter) => waiter.job === job && !waiter.manner.isAhead),

    close() {
      closed = true;
      nap?.end.abort(over);
      idle?.abort(over);
      return owner.tidy();
    },
  };

  /** Serves those who wait, the one furthest behind first, until none can go now; then naps until one may. */
  function serve(): void {
    for (let waiter = next(); waiter; waiter = next()) {
      if (owner.take(waiter.job, waiter.manner) || askFor(waiter)) send(waiter);
    }
    // Those who wait are served again once the machine has answered.
    if (owner.isTelling()) return;
    // Who is kept waiting by calls under way alone goes when one of them ends.
    const timed = owner.isFullAhead() ? waiters.filter(({ manner }) => !manner.isAhead) : waiters;
    if (timed.length > 0) napUntil(Math.min(...timed.map(({ notBefore }) => notBefore)));
    else if (waiters.length === 0 && owner.hasNews()) tidyWhenIdle();
  }

  function send(waiter: Waiter): void {
    owner.send(waiter.job);
    waiter.go();
  }

  /** Where the machine is told by way of a promise: what follows from that comes later. */
  function serveAfter(told: Promise<void> | undefined): void {
    // What could not be told is kept, and told with the next call, which then fails for the same reason.
    if (told) void inReach(told).then(serve, serve);
  }

  /** The same promise. Where it takes longer than any wait that is sat out, who waits for it waits no longer. */
  function inReach<T>(told: Promise<T>): Promise<T> {
    const giveUp = () => {
      isOutOfReach = true;
      refuseAll();
    };
    const cancel = Number.isFinite(longestWaitMs) ? clock.after(longestWaitMs, giveUp) : () => undefined;
    return told.finally(() => {
      cancel();
      isOutOfReach = false;
    });
  }

  /** Whoever could be served without asking has been. */
  function refuseAll(): void {
    for (const waiter of [...waiters]) waiter.refuse(outOfReach(clock.now()));
  }

  /**
   * Of those who may ask, the one furthest behind, and calls asked ahead last; who cannot be told how far that is waits no
   * longer.
   */
  function next(): Waiter | undefined {
    if (owner.isFull()) return undefined;
    const now = clock.now();
    // A clock that was set back would make a wait longer than any that is sat out.
    for (const waiter of waiters) if (waiter.notBefore > now + longestWaitMs) waiter.notBefore = 0;
    const mayAsk = owner.isTelling()
      ? waiters.filter(({ job, manner }) => owner.mayTake(job, manner))
      : waiters.filter(({ job, notBefore }) => owner.holds(job) || notBefore <= now);
    const ready = mayAsk.filter(({ manner }) => !manner.isAhead);
    if (ready.length === 0) return owner.isFullAhead() ? undefined : mayAsk[0];
    // The usual case, which needs no look at the database.
    if (ready.length === 1) return ready[0];
    let first: { waiter: Waiter; behind: number } | undefined;
    for (const waiter of ready)
      try {
        const behind = lag(waiter.job);
        if (!first || behind > first.behind) first = { waiter, behind };
      } catch (reason) {
        waiter.refuse(reason);
      }
    return first?.waiter;
  }

  /** True with a permit for the waiter's call; otherwise it waits on, or is told that waiting is not worth it. */
  function askFor(waiter: Waiter): boolean {
    try {
      const decision = owner.ask(waiter.job, waiter.manner);
      if (!(decision instanceof Promise)) return heed(waiter, decision);
      void heedLater(waiter, decision);
    } catch (reason) {
      waiter.refuse(reason);
    }
    return false;
  }

  async function heedLater(waiter: Waiter, decision: Promise<Decision>): Promise<void> {
    try {
      const made = await inReach(decision);
      // As many as may be under way may be by now: a permit is taken when one of them ends.
      if (waiters.includes(waiter) && !('go' in made)) heed(waiter, made);
    } catch (reason) {
      waiter.refuse(reason);
    }
    serve();
  }

  function heed(waiter: Waiter, decision: Decision): boolean {
    const { job, manner } = waiter;
    if ('go' in decision) return owner.take(job);
    const now = clock.now();
    if (!('wait' in decision) || decision.wait.until - now > longestWaitMs) throw denial(job, decision);
    const { until, reason } = decision.wait;
    if (manner.isAhead && !passing.has(reason)) throw denial(job, decision);
    const all = accountWide.has(reason) ? [...waiters] : [waiter];
    for (const held of all) held.notBefore = Math.max(held.notBefore, until, now + 1);
    for (const held of all) hold(held);
    return false;
  }

  function hold(waiter: Waiter): void {
    try {
      waiter.manner.held?.();
    } catch (reason) {
      waiter.refuse(reason);
    }
  }

  function napUntil(until: number): void {
    if (nap?.until === until || owner.isFull() || closed) return;
    nap?.end.abort(over);
    const end = new AbortController();
    nap = { until, end };
    const wake = () => {
      nap = undefined;
      // The clock may have been set back meanwhile: who has waited has waited.
      for (const waiter of waiters) if (waiter.notBefore <= until) waiter.notBefore = 0;
      serve();
    };
    clock.sleep(Math.max(0, until - clock.now()), end.signal).then(wake, () => undefined);
  }

  /** A process that has nothing to do leaves nothing untold and keeps no permits from the others. */
  function tidyWhenIdle(): void {
    if (idle || closed) return;
    const controller = new AbortController();
    idle = controller;
    clock
      .sleep(IDLE_MS, controller.signal)
      .then(() => {
        idle = undefined;
        if (waiters.length === 0) serveAfter(owner.tidy());
      })
      // What could not be told is kept, and told with the next call, which then fails for the same reason.
      .catch(() => undefined);
  }
}
