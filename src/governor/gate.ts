/** The one gate that every call passes: asks the state machine for leave and sits out short waits. */

import { type Clock, isoTime, type Random } from '../clock.ts';
import { Failure, Snooze, type WaitReason } from '../errors.ts';
import { type Decision, type Event, type KeyMark, LEAVE_TTL_MS, type Standing } from './events.ts';
import { govern } from './machine.ts';
import { lag } from './share.ts';
import { readState, type State } from './state.ts';

/** `status` is null where no answer came; `stopped` where we did not wait for one. */
export type Answer = {
  status: number | null;
  limit: number | null;
  remaining: number | null;
  retryAfterMs: number | null;
  errorCode: string | null;
  latencyMs: number;
  stopped?: boolean;
};

export type Gate = {
  /**
   * Resolves when one call of `job` may be made; `settle` must follow.
   * @throws Snooze where the wait is longer than the patience; Failure `key` where the API refuses the key;
   * the signal's reason when it is aborted.
   */
  pass(job: string, signal: AbortSignal): Promise<void>;
  settle(job: string, answer: Answer): void;
  keyChanged(): void;
  /** The clock was set, or the machine slept. Who waits is served anew. */
  clockJumped(): void;
  /** Whether a call of `job` waits in `pass`. */
  waits(job: string): boolean;
  /** Gives unused leave back and keeps what was learnt. */
  close(): void;
};

export type GateParts = {
  /** Changes the kept state (undefined at first) in one short transaction. */
  transact: <T>(change: (state: unknown) => { state: State; result: T }) => T;
  clock: Clock;
  random: Random;
  /** Names this process among those that share the state. */
  owner: string;
  patienceMs: number;
  standing?: (job: string) => Standing;
  /** Whether another owner is known to have ended; one of which nothing is known falls silent in time. */
  isGone?: (owner: string) => boolean;
  /** A few digits of the key's digest with `salt`: a key that was refused is not tried again at every start. */
  keyDigest?: (salt: string) => string;
  /** A person wants what was refused to be tried once more. */
  again?: boolean;
};

type Waiter = {
  job: string;
  signal: AbortSignal;
  /** Not worth asking again before. */
  notBefore: number;
  resolve(): void;
  reject(reason: unknown): void;
};

/** A call under way: how many were when it was sent, itself included, and at most since. */
type Call = { job: string; ordinal: number; peak: number };

type Leave = { calls: number; staleAt: number };

const evenStanding: Standing = { age: 0, target: 0, weight: 1 };
/** Waits that are the same for every job. */
const accountWide: ReadonlySet<WaitReason> = new Set(['rate', 'concurrency', 'retry_after']);
const LARGEST_BLOCK = 10;
/** So many answers without news are kept back at most, and so long, to be told together. */
const MOST_PENDING = 2 * LARGEST_BLOCK;
const IDLE_MS = 250;
/** Ends a sleep; a reason of its own, since making the usual one is dear. */
const over = new Error('over');

export function createGate(parts: GateParts): Gate {
  const { clock, random, owner, patienceMs, keyDigest, again = false } = parts;
  const { standing = () => evenStanding, isGone = () => false } = parts;
  const waiters: Waiter[] = [];
  const leave = new Map<string, Leave>();
  const inflight: Call[] = [];
  let parallel = 1;
  let pending: Event[] = [{ type: 'start', owner, again }];
  let nap: { until: number; end: AbortController } | undefined;
  let idle: AbortController | undefined;
  let closed = false;

  return {
    pass(job, signal) {
      return new Promise<void>((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const drop = () => {
          waiters.splice(waiters.indexOf(waiter), 1);
          reject(signal.reason);
        };
        const done = () => signal.removeEventListener('abort', drop);
        const waiter: Waiter = {
          job,
          signal,
          notBefore: 0,
          resolve() {
            done();
            resolve();
          },
          reject(reason) {
            done();
            reject(reason);
          },
        };
        signal.addEventListener('abort', drop, { once: true });
        waiters.push(waiter);
        serve();
      });
    },

    settle(job, answer) {
      const { status, stopped = false, ...reply } = answer;
      const call = finish(job);
      // Calls overtake one another: one that is refused may have met all that were under way with it.
      const together = (status === 429 ? call?.peak : call?.ordinal) ?? 1;
      const common = { owner, job, roll: random() };
      pending.push(
        status === null
          ? { type: 'lost', ...common, stopped }
          : { type: 'answer', ...common, inflight: together, ...reply, status, key: newMark() },
      );
      const eventful = status === null || status < 200 || status >= 300;
      if (eventful) giveAllBack();
      try {
        if (eventful || pending.length >= MOST_PENDING) tell();
      } finally {
        serve();
      }
    },

    keyChanged() {
      pending.push({ type: 'key' });
      tell();
      serve();
    },

    clockJumped() {
      giveAllBack();
      pending.push({ type: 'clock' });
      for (const waiter of waiters) waiter.notBefore = 0;
      try {
        tell();
      } catch {
        // It is told with the next call, which fails for the same reason.
      }
      serve();
    },

    waits: (job) => waiters.some((waiter) => waiter.job === job),

    close() {
      closed = true;
      nap?.end.abort(over);
      idle?.abort(over);
      giveAllBack();
      if (pending.length > 0) tell();
    },
  };

  /** Serves those who wait, the one furthest behind first, until none can go now; then naps until one may. */
  function serve(): void {
    for (let waiter = next(); waiter; waiter = next()) {
      if (takeLeave(waiter.job) || askFor(waiter)) go(waiter);
    }
    if (waiters.length > 0) napUntil(Math.min(...waiters.map((waiter) => waiter.notBefore)));
    else if (leave.size > 0 || pending.length > 0) tidyWhenIdle();
  }

  function go(waiter: Waiter): void {
    inflight.push({ job: waiter.job, ordinal: inflight.length + 1, peak: 0 });
    for (const call of inflight) call.peak = Math.max(call.peak, inflight.length);
    waiters.splice(waiters.indexOf(waiter), 1);
    waiter.resolve();
  }

  function finish(job: string): Call | undefined {
    const index = inflight.findIndex((call) => call.job === job);
    return inflight.splice(index < 0 ? inflight.length : index, 1)[0];
  }

  /** Of those who may ask, the one furthest behind. */
  function next(): Waiter | undefined {
    if (isFull()) return undefined;
    const now = clock.now();
    // A clock that was set back would make a wait longer than any that is sat out.
    for (const waiter of waiters) if (waiter.notBefore > now + patienceMs) waiter.notBefore = 0;
    const ready = waiters.filter(({ job, notBefore }) => leave.has(job) || notBefore <= now);
    const [first] = ready.flatMap((waiter) => behind(waiter) ?? []).toSorted((a, b) => b.lag - a.lag);
    return first?.waiter;
  }

  /** How far behind the waiter's job is; where that cannot be read, the waiter is told why and waits no longer. */
  function behind(waiter: Waiter): { waiter: Waiter; lag: number } | undefined {
    try {
      return { waiter, lag: lag(standing(waiter.job)) };
    } catch (reason) {
      refuse(waiter, reason);
      return undefined;
    }
  }

  function refuse(waiter: Waiter, reason: unknown): void {
    waiters.splice(waiters.indexOf(waiter), 1);
    waiter.reject(reason);
  }

  function isFull(): boolean {
    return inflight.length >= Math.max(1, parallel);
  }

  function takeLeave(job: string): boolean {
    const held = leave.get(job);
    if (!held) return false;
    if (isStale(held)) return false;
    if (held.calls === 1) leave.delete(job);
    else leave.set(job, { ...held, calls: held.calls - 1 });
    return true;
  }

  function giveBack(job: string): void {
    const unused = leave.get(job)?.calls ?? 0;
    leave.delete(job);
    if (unused > 0) pending.push({ type: 'release', owner, unused });
  }

  /** A job that ended leaves none behind that would hold up the others. */
  function giveStaleBack(): void {
    for (const [job, held] of leave) if (isStale(held)) giveBack(job);
  }

  /** Too old, or given by a clock that was ahead. */
  function isStale({ staleAt }: Leave): boolean {
    const left = staleAt - clock.now();
    return left <= 0 || left > LEAVE_TTL_MS;
  }

  function giveAllBack(): void {
    for (const job of [...leave.keys()]) giveBack(job);
  }

  /** True with leave for the waiter's call; otherwise it waits on, or is told that waiting is not worth it. */
  function askFor(waiter: Waiter): boolean {
    const { job } = waiter;
    giveStaleBack();
    try {
      const decision = tell({ type: 'ask', owner, job, want: LARGEST_BLOCK, ...standing(job) });
      if ('go' in decision) {
        parallel = decision.parallel;
        leave.set(job, { calls: decision.go, staleAt: clock.now() + LEAVE_TTL_MS });
        return takeLeave(job);
      }
      const now = clock.now();
      if (!('wait' in decision) || decision.wait.until - now > patienceMs) throw denial(job, decision);
      const { until, reason } = decision.wait;
      for (const held of accountWide.has(reason) ? waiters : [waiter])
        held.notBefore = Math.max(held.notBefore, until, now + 1);
    } catch (reason) {
      refuse(waiter, reason);
    }
    return false;
  }

  /** Tells the machine what is pending and then `last`, in one transaction. */
  function tell(last?: Event): Decision {
    const events = last ? [...pending, last] : pending;
    const decision = parts.transact((kept) => {
      const now = clock.now();
      let state = readState(kept);
      let result: Decision = { noted: true };
      const gone = Object.keys(state.leases).filter((other) => other !== owner && isGone(other));
      for (const other of gone) [state] = govern(state, { type: 'gone', owner: other }, now);
      if (isOtherKey(state)) [state] = govern(state, { type: 'key' }, now);
      for (const event of events) [state, result] = govern(state, event, now);
      return { state, result };
    });
    pending = [];
    return decision;
  }

  function newMark(): KeyMark | null {
    const salt = random().toString(36).slice(2, 10);
    return keyDigest ? { salt, digest: keyDigest(salt) } : null;
  }

  /** Whether ours is not the key that was refused. Where that is not known, it may be. */
  function isOtherKey({ refusedKey, keyRefused, jobs }: State): boolean {
    const isRefused = keyRefused !== null || Object.values(jobs).some(({ forbidden }) => forbidden);
    if (!isRefused || !keyDigest) return false;
    return refusedKey === null || keyDigest(refusedKey.salt) !== refusedKey.digest;
  }

  function napUntil(until: number): void {
    if (nap?.until === until || isFull() || closed) return;
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

  /** A process that has nothing to do leaves nothing untold and keeps no leave from the others. */
  function tidyWhenIdle(): void {
    if (idle || closed) return;
    const controller = new AbortController();
    idle = controller;
    clock
      .sleep(IDLE_MS, controller.signal)
      .then(() => {
        idle = undefined;
        if (waiters.length > 0) return;
        giveAllBack();
        if (pending.length > 0) tell();
      })
      // What could not be told is kept, and told with the next call, which then fails for the same reason.
      .catch(() => undefined);
  }
}

function denial(job: string, decision: Decision): Error {
  if ('wait' in decision) return new Snooze(decision.wait.until, decision.wait.reason);
  if (!('refused' in decision)) throw new Error('neither allowed nor denied');
  const what =
    decision.refused === 'forbidden'
      ? `${job}: the key lacks the scope for this endpoint, or may not be used from this address`
      : 'the API refused the key';
  const when = `it is tried again at ${isoTime(decision.until)}`;
  return new Failure('key', `${what}; ${when}; to try now, set another key or run market-mirror doctor`);
}
