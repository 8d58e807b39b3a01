/**
 * One process among those that share the governor's state: the permits it holds, its requests in flight, and the events
 * that it has not told yet. Each change of the state is a transaction, and there is one at a time.
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

/** How a request ended. `status` is null where no response came; `stopped` where we did not wait for one. */
export type RequestOutcome = LimitReport & { status: number | null; stopped?: boolean };

/** Changes the kept state (undefined at first) in one short transaction. */
export type Transact = <T>(change: Change<T>) => T | Promise<T>;
/** Runs again where the state was newer than thought. `now` by the clock of a remote state; ours unless given. */
export type Change<T> = (kept: unknown, now?: number) => { state: State; result: T };

export type LeaseParts = {
  transact: Transact;
  /** The state lies on another machine: it has its own clock, and may be out of reach for any time. */
  isRemote?: boolean;
  clock: Clock;
  random: Random;
  /** Names this process among those that share the state. */
  owner: string;
  /** Whether another owner is known to have ended; one of which nothing is known falls silent in time. */
  isGone?: (owner: string) => boolean;
  /** A few digits of the key's digest with `salt`: a key that was refused is not tried again at every start. */
  keyDigest?: (salt: string) => string;
  /** A person wants what was refused to be tried once more. */
  again?: boolean;
};

type InFlightRequest = {
  job: string;
  /** Requests of this process in flight when it was sent, itself included; and the most since then. */
  ordinal: number;
  peak: number;
  /** As the decision gave them, by which it was sent. */
  othersInFlight: number;
  responsesBefore: number;
};

type PendingEvent = { event: Event; heardAt: number };

/** The machine's decision, and when it was made, by our clock. */
type DatedDecision = { decision: Decision; at: number };

/** Permits asked for at once; fewer are given where so many would show in the rate. */
const LARGEST_BLOCK = 10;
/** What a response said of a remote state's limits is out of date after so long. */
const NEWS_MS = 10_000;

export function createLease(parts: LeaseParts) {
  const { clock, random, owner, keyDigest, isGone = () => false, again = false, isRemote = false } = parts;
  const permits = new Map<string, { count: number; staleAt: number }>();
  const inFlight: InFlightRequest[] = [];
  const pending: PendingEvent[] = [];
  /** By the latest decision. */
  let limits = { maxInFlight: 1, maxPrefetchInFlight: 1, othersInFlight: 0, responsesBefore: 0 };
  /** Prefetches that may be sent, those that have not proven needed yet, and until when the decision on them holds. */
  const prefetch = { budget: 0, unproven: 0, staleAt: 0 };
  let transaction: Promise<void> | undefined;
  /** How often permits were recalled: those that are given meanwhile go back as well. */
  let recalls = 0;
  note({ type: 'start', owner, again });

  return {
    /** Asks for permits for the job, and holds those that are given. */
    async ask(job: string, { upcoming = 0, isPrefetch = false }: PrefetchOptions = {}): Promise<Decision> {
      for (const [other, { staleAt }] of permits) if (other === job || isStale(staleAt)) giveBack(other);
      giveBackPrefetches();
      const recallsBefore = recalls;
      const { decision, at } = await tell({
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

    /** Whether a decision is being made. */
    isAsking: () => transaction !== undefined,

    canTake,

    /** Takes a permit for a request of the job, which is sent now; false where none is held that is still good. */
    take(job: string, options?: PrefetchOptions): boolean {
      const held = permits.get(job);
      if (!held || !canTake(job, options)) return false;
      if (held.count === 1) permits.delete(job);
      else held.count -= 1;
      const { othersInFlight, responsesBefore } = limits;
      inFlight.push({ job, ordinal: inFlight.length + 1, peak: 0, othersInFlight, responsesBefore });
      for (const request of inFlight) request.peak = Math.max(request.peak, inFlight.length);
      return true;
    },

    /** Whether no request may be sent beside those in flight and `reserved` others. */
    isFull: (reserved = 0) => inFlight.length + reserved >= Math.max(1, limits.maxInFlight),

    isFullOfPrefetches: () => inFlight.length >= Math.min(limits.maxInFlight, limits.maxPrefetchInFlight),

    /** A request of the job has ended. @returns whether that is news, to be told at once; else it is told with the next question. */
    complete(job: string, { status, stopped = false, ...report }: RequestOutcome): boolean {
      const index = inFlight.findIndex((request) => request.job === job);
      const [request] = inFlight.splice(index < 0 ? inFlight.length : index, 1);
      const ended = { owner, job, roll: random() };
      if (status === null) note({ type: 'lost', ...ended, stopped });
      else
        note({
          type: 'response',
          ...ended,
          ...report,
          status,
          // Requests overtake one another: a refused one may have met all that were in flight with it.
          inFlight: (status === 429 ? request?.peak : request?.ordinal) ?? 1,
          othersInFlight: request?.othersInFlight ?? 0,
          responsesBefore: request?.responsesBefore ?? 0,
          key: markKey(status),
        });
      const isNews = status === null || status < 200 || status >= 300;
      if (isNews) recall();
      return isNews;
    },

    /** Takes one of the prefetch budget; false where none is left. */
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

    /** Something happened that concerns all jobs. */
    hear(event: Event): void {
      recall();
      note(event);
    },

    hasNews: () => permits.size > 0 || pending.length > 0 || prefetch.budget > 0,

    /** Tells what is pending; where that fails, it stays pending. */
    async tellPending(): Promise<void> {
      await tell();
    },

    giveAllBack,
  };

  /** Too old, or given by a clock that was ahead. */
  function isStale(staleAt: number): boolean {
    const left = staleAt - clock.now();
    return left <= 0 || left > PERMIT_TTL_MS;
  }

  /** Whether a good permit for the job is held, and a good decision on its prefetches where it wants any. */
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

  /** Gives back all permits: what happened since they were given may have made them wrong. */
  function recall(): void {
    recalls += 1;
    giveAllBack();
  }

  function note(event: Event): void {
    pending.push({ event, heardAt: clock.now() });
  }

  /** Tells the machine what is pending, then the question; where that fails, it stays pending. */
  async function tell(question?: Event): Promise<DatedDecision> {
    while (transaction) await transaction;
    if (!question && pending.length === 0) return { decision: { noted: true }, at: clock.now() };
    const news = pending.splice(0);
    const told = transact(news, question);
    const end = () => {
      transaction = undefined;
    };
    transaction = told.then(end, () => {
      pending.unshift(...news);
      end();
    });
    return await told;
  }

  async function transact(
    news: readonly PendingEvent[],
    question: Event | undefined,
  ): Promise<DatedDecision> {
    const holds = holding();
    const { decision, at, now } = await parts.transact((kept, remoteNow) => {
      const at = clock.now();
      const now = remoteNow ?? at;
      const events = news.map((one) => (isRemote ? withoutOldNews(one, at) : one.event));
      if (question) events.push(holds, question);
      const [state, decision] = governAll(kept, events, now);
      return { state, result: { decision, at, now } };
    });
    // Our clock may have been set meanwhile.
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

  /** Governs by those events, after what this process knows of ended processes and of its key. */
  function governAll(kept: unknown, events: readonly Event[], now: number): [State, Decision] {
    const state = readState(kept);
    const gone = Object.keys(state.leases).filter((other) => other !== owner && isGone(other));
    const writeOffs = gone.map((other): Event => ({ type: 'gone', owner: other }));
    const newKey: Event[] = isOtherKey(state) ? [{ type: 'key' }] : [];
    return govern(state, [...writeOffs, ...newKey, ...events], now);
  }

  function markKey(status: number): KeyMark | null {
    if (status !== 401 && status !== 403) return null;
    const salt = random().toString(36).slice(2, 10);
    return keyDigest ? { salt, digest: keyDigest(salt) } : null;
  }

  /** Whether ours is not the key that was refused. Where that is not known, it may be. */
  function isOtherKey({ refusedKey, keyRefused, jobs }: State): boolean {
    const isRefused = keyRefused !== null || Object.values(jobs).some(({ forbidden }) => forbidden);
    if (!isRefused || !keyDigest) return false;
    return refusedKey === null || keyDigest(refusedKey.salt) !== refusedKey.digest;
  }
}

/** That a request was made, or refused, counts however late; what an accepted one said of the limits does not. */
function withoutOldNews({ event, heardAt }: PendingEvent, now: number): Event {
  if (now - heardAt <= NEWS_MS || event.type !== 'response' || event.status >= 300) return event;
  const { owner, job, roll } = event;
  return { type: 'lost', owner, job, roll, stopped: true };
}

/** The same decision with its time so many milliseconds earlier. */
function earlier(decision: Decision, ms: number): Decision {
  if (ms === 0 || 'permits' in decision || 'noted' in decision) return decision;
  if ('wait' in decision) return { wait: { ...decision.wait, until: decision.wait.until - ms } };
  return { ...decision, until: decision.until - ms };
}
