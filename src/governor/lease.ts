/**
 * One process of those that share the governor's state: its permits, its requests in flight, and its pending events. It changes the
 * state by one transaction at a time.
 */

import type { Clock, Random } from '../clock.ts';
import { govern } from './machine.ts';
import {
  type Decision,
  type Event,
  type KeyMark,
  type LimitReport,
  PERMIT_TTL_MS,
  type PrefetchOptions,
  readState,
  type State,
} from './state.ts';

/**
 * How a request ended. `status` is null where no response came, 429 for any limit. `stopped`: we did not wait for the response; `isBlocked`:
 * not the API gave it, but something between us and the API.
 */
export type RequestOutcome = LimitReport & { status: number | null; stopped?: boolean; isBlocked?: boolean };

/** Changes the kept state (undefined at first) in one short transaction. */
export type Transact = <T>(change: Change<T>) => T | Promise<T>;
/** May run again, if another process wrote first. `now` by the clock of a remote state; ours unless given. */
export type Change<T> = (kept: unknown, now?: number) => { state: State; result: T };

export type LeaseParts = {
  transact: Transact;
  /** Whether the state lies on another machine, with a clock of its own, and may be out of reach. */
  isRemote?: boolean;
  clock: Clock;
  random: Random;
  /** The name of this process. */
  owner: string;
  /** Whether another owner is known to have ended. */
  isGone?: (owner: string) => boolean;
  /** A few digits of the key's digest with `salt`: a refused key is not tried again at every start. */
  keyDigest?: (salt: string) => string;
  /** Whether to try at once what was refused or failed: a person asks for it. */
  again?: boolean;
};

export type InFlightRequest = {
  job: string;
  /** Requests of this process in flight when it was sent, itself included; and the most since then. */
  ordinal: number;
  peak: number;
  /** As the decision said by which it was sent. */
  othersInFlight: number;
  responsesBefore: number;
};

type PendingEvent = { event: Event; heardAt: number };

/** The machine's decision, and its time by our clock. */
type DatedDecision = { decision: Decision; at: number };

/** Permits asked for at once; fewer are given where so many would exceed the rate. */
const LARGEST_BLOCK = 10;
/** After so long, a remote state has newer facts than a response. */
const NEWS_MS = 10_000;

export function createLease(parts: LeaseParts) {
  const { clock, random, owner, keyDigest, isGone = () => false, again = false, isRemote = false } = parts;
  const permits = new Map<string, { count: number; staleAt: number }>();
  const inFlight: InFlightRequest[] = [];
  const pending: PendingEvent[] = [];
  /** By the latest decision. */
  let limits = { maxInFlight: 1, maxPrefetchInFlight: 1, othersInFlight: 0, responsesBefore: 0 };
  /** Prefetches that may be sent, those not proven needed yet, and until when the decision on them holds. */
  const prefetch = { budget: 0, unproven: 0, staleAt: 0 };
  let transaction: Promise<void> | undefined;
  /** How often permits were recalled: those that a decision gives meanwhile go back as well. */
  let recalls = 0;
  note({ type: 'start', owner, again });

  return {
    /** Asks for permits for the job, and keeps them. */
    async ask(job: string, { upcoming = 0, isPrefetch = false }: PrefetchOptions = {}): Promise<Decision> {
      for (const [other, { staleAt }] of permits) if (other === job || isStale(staleAt)) giveBack(other);
      giveBackPrefetches();
      const recallsBefore = recalls;
      const { decision, at } = await exchange({
        type: 'ask',
        owner,
        job,
        want: LARGEST_BLOCK,
        inFlight: inFlight.length + 1,
        upcoming,
        isPrefetch,
        unproven: prefetch.unproven,
      });
      if ('permits' in decision) {
        limits = decision;
        const staleAt = at + PERMIT_TTL_MS;
        permits.set(job, { count: decision.permits, staleAt });
        prefetch.budget += decision.prefetchBudget;
        if (upcoming > 0) prefetch.staleAt = staleAt;
        if (recalls !== recallsBefore) giveAllBack();
      }
      return decision;
    },

    isAsking: () => transaction !== undefined,

    canTake,

    /** Takes a permit for a request of the job, which is sent now; undefined where no good one is held. */
    take(job: string, options?: PrefetchOptions): InFlightRequest | undefined {
      const held = permits.get(job);
      if (!held || !canTake(job, options)) return undefined;
      if (held.count === 1) permits.delete(job);
      else held.count -= 1;
      const { othersInFlight, responsesBefore } = limits;
      const taken = { job, ordinal: inFlight.length + 1, peak: 0, othersInFlight, responsesBefore };
      inFlight.push(taken);
      for (const request of inFlight) request.peak = Math.max(request.peak, inFlight.length);
      return taken;
    },

    /** Whether no request may join those in flight and `reserved` others. */
    isFull: (reserved = 0) => inFlight.length + reserved >= Math.max(1, limits.maxInFlight),

    isFullOfPrefetches: () => inFlight.length >= Math.min(limits.maxInFlight, limits.maxPrefetchInFlight),

    /** The request has ended. @returns whether that must be reported at once, not with the next question. */
    complete(request: InFlightRequest, { status, stopped = false, ...report }: RequestOutcome): boolean {
      inFlight.splice(inFlight.indexOf(request), 1);
      const ended = { owner, job: request.job, roll: random() };
      if (status === null) note({ type: 'lost', ...ended, stopped });
      else
        note({
          type: 'response',
          ...ended,
          ...report,
          status,
          // Requests overtake each other: the API may have refused one because of any that were in flight with it.
          inFlight: status === 429 ? request.peak : request.ordinal,
          othersInFlight: request.othersInFlight,
          responsesBefore: request.responsesBefore,
          key: markKey(status),
        });
      const isUrgent = status === null || status < 200 || status >= 300;
      if (isUrgent) recall();
      return isUrgent;
    },

    /** Takes one from the prefetch budget; false where none is left. */
    reservePrefetch(): boolean {
      if (prefetch.budget < 1) return false;
      prefetch.budget -= 1;
      prefetch.unproven += 1;
      return true;
    },

    endPrefetch(isRefunded: boolean): void {
      prefetch.unproven -= 1;
      if (isRefunded) prefetch.budget += 1;
    },

    /** Notes an event that concerns all jobs. */
    noteForAll(event: Event): void {
      recall();
      note(event);
    },

    /** Whether there is anything to report or to give back. */
    hasPending: () => permits.size > 0 || pending.length > 0 || prefetch.budget > 0,

    /** Reports the pending events; after an error they stay pending. */
    async report(): Promise<void> {
      await exchange();
    },

    giveAllBack,
  };

  /** Too old, or from a clock that was ahead. */
  function isStale(staleAt: number): boolean {
    const left = staleAt - clock.now();
    return left <= 0 || left > PERMIT_TTL_MS;
  }

  /** Whether a good permit for the job is held, and a good decision on its prefetches, if it wants any. */
  function canTake(job: string, { upcoming = 0 }: PrefetchOptions = {}): boolean {
    const held = permits.get(job);
    return held !== undefined && !isStale(held.staleAt) && !(upcoming > 0 && isStale(prefetch.staleAt));
  }

  function giveBack(job: string): void {
    const unused = permits.get(job)?.count ?? 0;
    permits.delete(job);
    if (unused > 0) note({ type: 'release', owner, permits: unused });
  }

  function giveBackPrefetches(): void {
    const { budget } = prefetch;
    prefetch.budget = 0;
    if (budget > 0) note({ type: 'release', owner, permits: 0, prefetchBudget: budget });
  }

  function giveAllBack(): void {
    for (const job of [...permits.keys()]) giveBack(job);
    giveBackPrefetches();
  }

  /** Gives back all permits, which an event may have made wrong. */
  function recall(): void {
    recalls += 1;
    giveAllBack();
  }

  function note(event: Event): void {
    pending.push({ event, heardAt: clock.now() });
  }

  /** Reports the pending events to the machine, then asks the question; after an error the events stay pending. */
  async function exchange(question?: Event): Promise<DatedDecision> {
    while (transaction) await transaction;
    if (!question && pending.length === 0) return { decision: { noted: true }, at: clock.now() };
    const reported = pending.splice(0);
    const decided = transact(reported, question);
    const end = () => {
      transaction = undefined;
    };
    transaction = decided.then(end, () => {
      pending.unshift(...reported);
      end();
    });
    return await decided;
  }

  async function transact(
    reported: readonly PendingEvent[],
    question: Event | undefined,
  ): Promise<DatedDecision> {
    const holds = holding();
    const { decision, at, now } = await parts.transact((kept, remoteNow) => {
      const at = clock.now();
      const now = remoteNow ?? at;
      const events = reported.map((one) => (isRemote ? withoutOldFacts(one, at) : one.event));
      if (question) events.push(holds, question);
      const [state, decision] = governAll(kept, events, now);
      return { state, result: { decision, at, now } };
    });
    // By our clock, which may have been set meanwhile.
    return { decision: earlier(decision, now - clock.now()), at };
  }

  function holding(): Event {
    const unused = [...permits.values()].reduce((sum, { count }) => sum + count, 0);
    const { maxInFlight } = limits;
    return {
      type: 'holds',
      owner,
      permits: inFlight.length + unused,
      maxInFlight,
      inFlight: inFlight.length,
    };
  }

  /** Applies the events, after those that this process adds: processes that have ended, and a new key. */
  function governAll(kept: unknown, events: readonly Event[], now: number): [State, Decision] {
    const state = readState(kept);
    const gone = Object.keys(state.leases).filter((other) => other !== owner && isGone(other));
    const writeOffs = gone.map((other): Event => ({ type: 'gone', owner: other }));
    const newKey: Event[] = isOtherKey(state) ? [{ type: 'key' }] : [];
    return govern(state, [...writeOffs, ...newKey, ...events], now);
  }

  function markKey(status: number): KeyMark | null {
    if (status !== 401 && status !== 403) return null;
    const salt = random().toString(36);
    return keyDigest ? { salt, digest: keyDigest(salt) } : null;
  }

  /** Whether a key was refused that is not ours, as far as is known. */
  function isOtherKey({ refusedKey, keyRefused, jobs }: State): boolean {
    const isRefused = keyRefused !== null || Object.values(jobs).some(({ forbidden }) => forbidden);
    if (!isRefused || !keyDigest) return false;
    return refusedKey === null || keyDigest(refusedKey.salt) !== refusedKey.digest;
  }
}

/** A late report of an accepted request still counts the request, but not what its response said of the limits. */
function withoutOldFacts({ event, heardAt }: PendingEvent, now: number): Event {
  if (now - heardAt <= NEWS_MS || event.type !== 'response' || event.status >= 300) return event;
  const { owner, job, roll } = event;
  return { type: 'lost', owner, job, roll, stopped: true };
}

/** The decision with its time so many milliseconds earlier. */
function earlier(decision: Decision, ms: number): Decision {
  if ('wait' in decision) return { wait: { ...decision.wait, until: decision.wait.until - ms } };
  return 'refused' in decision ? { ...decision, until: decision.until - ms } : decision;
}
