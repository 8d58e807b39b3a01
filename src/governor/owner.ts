/** One process among those that share the state: the permits it holds, its calls under way, what it has not told yet. */

import type { Clock, Random } from '../clock.ts';
import { inTime, type News, sooner, whenThere } from './elsewhere.ts';
import {
  type Asking,
  type Decision,
  type Event,
  type EventOf,
  type KeyMark,
  PERMIT_TTL_MS,
  type Report,
} from './events.ts';
import { govern } from './machine.ts';
import { readState, type State } from './state.ts';

/** `status` is null where no answer came; `stopped` where we did not wait for one. */
export type Answer = Report & { status: number | null; stopped?: boolean };

/**
 * Changes the kept state (undefined at first) in one short transaction: at once, or by a promise where it lies elsewhere.
 * `change` is given the time there, ours unless told; it may run again, on a state that is newer.
 */
export type Transact = <T>(change: Change<T>) => T | Promise<T>;
export type Change<T> = (kept: unknown, now?: number) => { state: State; result: T };

export type OwnerParts = {
  transact: Transact;
  /** The state lies elsewhere: it lives by another clock, and may be out of reach for any time. */
  isElsewhere?: boolean;
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

/** What the machine made of what it was told, and when, by our clock. */
type Told = { decision: Decision; at: number };

/** Undefined where what was told is kept by now. */
type Later = Promise<void> | undefined;

/**
 * A call under way: how many were when it was sent, itself included, and at most since; how many of others might be, and how
 * many answers the governor had of the quota.
 */
type Call = { job: string; ordinal: number; peak: number; others: number; answersBefore: number };

type Permits = { calls: number; staleAt: number };

/** Permits that are asked for at once; fewer are given where that would show in the pace. */
const LARGEST_BLOCK = 10;
/** So many answers without news are kept back at most, to be told together. */
const MOST_PENDING = 2 * LARGEST_BLOCK;
const noted: Decision = { noted: true };

export type Owner = ReturnType<typeof createOwner>;

export function createOwner(parts: OwnerParts) {
  const { clock, random, owner, keyDigest, isGone = () => false, again = false, isElsewhere } = parts;
  const permits = new Map<string, Permits>();
  const inflight: Call[] = [];
  let parallel = 1;
  let parallelAhead = 1;
  let others = 0;
  let answersBefore = 0;
  /** Stakes for calls asked ahead, those on calls that have not proven right, and until when the machine's word on them holds. */
  let stakes = 0;
  let staked = 0;
  let stakesStaleAt = 0;
  const pending: News[] = [];
  note({ type: 'start', owner, again });
  /** The transaction that is under way, where the state lies elsewhere; it never rejects. */
  let telling: Promise<unknown> | undefined;
  /** How often permits were given back for what had happened: those that are on their way go the same way. */
  let recalls = 0;

  return {
    /** Asks permits for the job, and holds those that are given. One at a time: not while `isTelling`. */
    ask(job: string, { foreseen = 0, isAhead = false }: Asking = {}): Decision | Promise<Decision> {
      for (const [other, held] of permits) if (other === job || isStale(held)) giveBack(other);
      giveStakesBack();
      const asking = {
        want: LARGEST_BLOCK,
        underWay: inflight.length + 1,
        ...(foreseen > 0 && { foreseen, isAhead, staked }),
      };
      const before = recalls;
      return whenThere(tell({ type: 'ask', owner, job, ...asking }), ({ decision, at }) => {
        if ('go' in decision) {
          const staleAt = at + PERMIT_TTL_MS;
          parallel = decision.parallel;
          parallelAhead = decision.parallelAhead;
          others = decision.others;
          answersBefore = decision.answersBefore;
          stakes += decision.stakes;
          if (foreseen > 0) stakesStaleAt = staleAt;
          permits.set(job, { calls: decision.go, staleAt });
          if (recalls !== before) giveAllBack();
        }
        return decision;
      });
    },

    /** Whether a permit for a call of the job is held that is still good; and lately asked whether others may go ahead. */
    mayTake,

    /** Takes it, where there is one. */
    take(job: string, asking?: Asking): boolean {
      const held = permits.get(job);
      if (!held || !mayTake(job, asking)) return false;
      if (held.calls === 1) permits.delete(job);
      else permits.set(job, { ...held, calls: held.calls - 1 });
      return true;
    },

    /** Puts a stake on a call that is to be asked ahead, where there is one. */
    stake(): boolean {
      if (stakes < 1) return false;
      stakes -= 1;
      staked += 1;
      return true;
    },

    /** That call was needed or never made, and its stake comes back; or it was made for nothing. */
    unstake(comesBack: boolean): void {
      staked -= 1;
      if (comesBack) stakes += 1;
    },

    holds: (job: string) => permits.has(job),

    /** Whether the machine is being told something: what it makes of it comes later. */
    isTelling: () => telling !== undefined,

    isFull: () => inflight.length >= Math.max(1, parallel),

    /** The same for calls that are asked ahead. */
    isFullAhead: () => inflight.length >= Math.min(parallel, parallelAhead),

    /** A call of the job is sent. */
    send(job: string): void {
      inflight.push({ job, ordinal: inflight.length + 1, peak: 0, others, answersBefore });
      for (const call of inflight) call.peak = Math.max(call.peak, inflight.length);
    },

    /** A call of the job has ended; what says more than that all is well is told at once. */
    settle(job: string, { status, stopped = false, ...reply }: Answer): Later {
      const index = inflight.findIndex((call) => call.job === job);
      const [call] = inflight.splice(index < 0 ? inflight.length : index, 1);
      // Calls overtake one another: one that is refused may have met all that were under way with it.
      const together = (status === 429 ? call?.peak : call?.ordinal) ?? 1;
      const common = { owner, job, roll: random() };
      note(
        status === null
          ? { type: 'lost', ...common, stopped }
          : {
              type: 'answer',
              ...common,
              inflight: together,
              others: call?.others ?? 0,
              answersBefore: call?.answersBefore ?? 0,
              ...reply,
              status,
              key: markKey(status),
            },
      );
      const eventful = status === null || status < 200 || status >= 300;
      if (eventful) recall();
      return eventful || pending.length >= MOST_PENDING ? tellPending() : undefined;
    },

    /** Something that concerns all jobs has happened. */
    hear(event: Event): Later {
      recall();
      note(event);
      return tellPending();
    },

    hasNews: () => permits.size > 0 || pending.length > 0 || stakes > 0,

    /** Gives all permits back and tells what was not told yet. */
    tidy(): Later {
      giveAllBack();
      return tellPending();
    },
  };

  /** Too old, or given by a clock that was ahead. */
  function isStale({ staleAt }: Pick<Permits, 'staleAt'>): boolean {
    const left = staleAt - clock.now();
    return left <= 0 || left > PERMIT_TTL_MS;
  }

  function giveBack(job: string): void {
    const unused = permits.get(job)?.calls ?? 0;
    permits.delete(job);
    if (unused > 0) note({ type: 'release', owner, unused });
  }

  function recall(): void {
    recalls += 1;
    giveAllBack();
  }

  function giveAllBack(): void {
    for (const job of [...permits.keys()]) giveBack(job);
    giveStakesBack();
  }

  function giveStakesBack(): void {
    if (stakes > 0) note({ type: 'release', owner, unused: 0, stakes });
    stakes = 0;
  }

  function mayTake(job: string, { foreseen = 0 }: Asking = {}): boolean {
    const held = permits.get(job);
    return held !== undefined && !isStale(held) && !(foreseen > 0 && isStale({ staleAt: stakesStaleAt }));
  }

  /**
   * Tells the machine what is pending and then `last`, in one transaction; where that fails, it stays pending. Where one is
   * under way, it follows.
   */
  function tell(last?: Event): Told | Promise<Told> {
    if (telling) return telling.then(() => tell(last));
    const told = pending.length;
    if (!last && told === 0) return { decision: noted, at: clock.now() };
    const news = pending.slice();
    const transacted = parts.transact((kept, there) => {
      const at = clock.now();
      const now = there ?? at;
      const events = news.map((one) => (isElsewhere ? inTime(one, at) : one.event));
      if (last) events.push(holding(told), last);
      const [state, decision] = lived(kept, events, now);
      return { state, result: { decision, at, now } };
    });
    if (!(transacted instanceof Promise)) {
      over(told);
      return transacted;
    }
    telling = transacted.then(
      () => over(told),
      () => over(0),
    );
    return transacted.then(({ decision, at, now }) => ({
      // Our clock may have been set meanwhile.
      decision: sooner(decision, now - clock.now()),
      at,
    }));
  }

  /** What this process holds once the machine has heard so much of what is pending. */
  function holding(told: number): EventOf<'holds'> {
    const untold = pending.slice(told).map(({ event }) => settles(event));
    const unused = [...permits.values()].map(({ calls }) => calls);
    const calls = inflight.length + sum(unused) + sum(untold);
    return { type: 'holds', owner, calls, parallel, underWay: inflight.length };
  }

  function note(event: Event): void {
    pending.push({ event, heardAt: clock.now() });
  }

  function tellPending(): Later {
    const told = tell();
    return told instanceof Promise ? told.then(() => undefined) : undefined;
  }

  function over(told: number): void {
    pending.splice(0, told);
    telling = undefined;
  }

  /** The state after those events, and what the machine makes of the last. */
  function lived(kept: unknown, events: readonly Event[], now: number): [State, Decision] {
    let state = readState(kept);
    let decision = noted;
    const gone = Object.keys(state.leases).filter((other) => other !== owner && isGone(other));
    for (const other of gone) [state] = govern(state, { type: 'gone', owner: other }, now);
    if (isOtherKey(state)) [state] = govern(state, { type: 'key' }, now);
    for (const event of events) [state, decision] = govern(state, event, now);
    return [state, decision];
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

/** How many permits are held no longer once the machine hears of it. */
function settles(event: Event): number {
  if (event.type === 'release') return event.unused;
  return event.type === 'answer' || event.type === 'lost' ? 1 : 0;
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
