/** One process among those that share the state: the permits it holds, its calls under way, what it has not told yet. */

import type { Clock, Random } from '../clock.ts';
import {
  type Asking,
  type Decision,
  type Event,
  type KeyMark,
  PERMIT_TTL_MS,
  type Report,
} from './events.ts';
import { govern } from './machine.ts';
import { readState, type State } from './state.ts';

/** `status` is null where no answer came; `stopped` where we did not wait for one. */
export type Answer = Report & { status: number | null; stopped?: boolean };

export type OwnerParts = {
  /** Changes the kept state (undefined at first) in one short transaction. */
  transact: <T>(change: (state: unknown) => { state: State; result: T }) => T;
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

/** A call under way: how many were when it was sent, itself included, and at most since. */
type Call = { job: string; ordinal: number; peak: number };

type Permits = { calls: number; staleAt: number };

/** Permits that are asked for at once; fewer are given where that would show in the pace. */
const LARGEST_BLOCK = 10;
/** So many answers without news are kept back at most, to be told together. */
const MOST_PENDING = 2 * LARGEST_BLOCK;

export type Owner = ReturnType<typeof createOwner>;

export function createOwner(parts: OwnerParts) {
  const { clock, random, owner, keyDigest, isGone = () => false, again = false } = parts;
  const permits = new Map<string, Permits>();
  const inflight: Call[] = [];
  let parallel = 1;
  let parallelAhead = 1;
  /** Stakes for calls asked ahead, those on calls that have not proven right, and until when the machine's word on them holds. */
  let stakes = 0;
  let staked = 0;
  let stakesStaleAt = 0;
  let pending: Event[] = [{ type: 'start', owner, again }];

  return {
    /** Asks permits for the job, and holds those that are given. */
    ask(job: string, { foreseen = 0, isAhead = false }: Asking = {}): Decision {
      for (const [other, held] of permits) if (other === job || isStale(held)) giveBack(other);
      giveStakesBack();
      const decision = tell({
        type: 'ask',
        owner,
        job,
        want: LARGEST_BLOCK,
        ...(foreseen > 0 && { foreseen, isAhead, staked }),
      });
      if ('go' in decision) {
        const staleAt = clock.now() + PERMIT_TTL_MS;
        parallel = decision.parallel;
        parallelAhead = decision.parallelAhead;
        stakes = decision.stakes;
        if (foreseen > 0) stakesStaleAt = staleAt;
        permits.set(job, { calls: decision.go, staleAt });
      }
      return decision;
    },

    /** Takes a permit for one call, where one is held that is still good; and lately asked whether others may go ahead. */
    take(job: string, { foreseen = 0 }: Asking = {}): boolean {
      const held = permits.get(job);
      if (!held || isStale(held)) return false;
      if (foreseen > 0 && isStale({ staleAt: stakesStaleAt })) return false;
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

    isFull: () => inflight.length >= Math.max(1, parallel),

    /** The same for calls that are asked ahead. */
    isFullAhead: () => inflight.length >= Math.min(parallel, parallelAhead),

    /** A call of the job is sent. */
    send(job: string): void {
      inflight.push({ job, ordinal: inflight.length + 1, peak: 0 });
      for (const call of inflight) call.peak = Math.max(call.peak, inflight.length);
    },

    /** A call of the job has ended; what says more than that all is well is told at once. */
    settle(job: string, { status, stopped = false, ...reply }: Answer): void {
      const index = inflight.findIndex((call) => call.job === job);
      const [call] = inflight.splice(index < 0 ? inflight.length : index, 1);
      // Calls overtake one another: one that is refused may have met all that were under way with it.
      const together = (status === 429 ? call?.peak : call?.ordinal) ?? 1;
      const common = { owner, job, roll: random() };
      pending.push(
        status === null
          ? { type: 'lost', ...common, stopped }
          : { type: 'answer', ...common, inflight: together, ...reply, status, key: markKey(status) },
      );
      const eventful = status === null || status < 200 || status >= 300;
      if (eventful) giveAllBack();
      if (eventful || pending.length >= MOST_PENDING) tell();
    },

    /** Something that concerns all jobs has happened. */
    hear(event: Event): void {
      giveAllBack();
      pending.push(event);
      tell();
    },

    hasNews: () => permits.size > 0 || pending.length > 0 || stakes > 0,

    /** Gives all permits back and tells what was not told yet. */
    tidy(): void {
      giveAllBack();
      if (pending.length > 0) tell();
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
    if (unused > 0) pending.push({ type: 'release', owner, unused });
  }

  function giveAllBack(): void {
    for (const job of [...permits.keys()]) giveBack(job);
    giveStakesBack();
  }

  function giveStakesBack(): void {
    if (stakes > 0) pending.push({ type: 'release', owner, unused: 0, stakes });
    stakes = 0;
  }

  /** Tells the machine what is pending and then `last`, in one transaction; where that fails, it stays pending. */
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
