/**
 * The governor's data: its state (plain JSON, shared by all processes), its events and its decisions. The names of epoch times
 * (milliseconds) in the state, and no others, end in `At`: `shiftTimes` relies on it.
 */

import type { WaitReason } from '../errors.ts';
import { type Concurrency, initialConcurrency } from './concurrency.ts';
import * as quotas from './quota.ts';
import { initialRate, type Rate, restartMeasurement } from './rate.ts';

export type State = {
  version: 5;
  /** Time of the latest event. */
  seenAt: number;
  /** Moving average from request to response; null before the first one. */
  latencyMs: number | null;
  /** By process. */
  leases: Record<string, Lease>;
  /** Set while all requests wait, since the account met a limit. */
  pause: Pause | null;
  /** Set while the API refuses the key; one request may try it again at `retryAt`. */
  keyRefused: { retryAt: number } | null;
  /** The key that was refused last, here or at one endpoint. */
  refusedKey: KeyMark | null;
  jobs: Record<string, JobState>;
  rate: Rate;
  concurrency: Concurrency;
  quota: quotas.Quota;
  prefetch: PrefetchAccount;
  /** Failed requests that may still be repeated soon. */
  retryCredit: number;
  /** Without credit, one request of all endpoints may be repeated at this time: else nobody would notice that all are well. */
  unpaidRetryAt: number;
};

/** Permits that one process holds. They count as spent until it says otherwise. */
export type Lease = {
  /** Requests allowed and not yet answered or given back. */
  permits: number;
  /** How many of them may be in flight at once. */
  maxInFlight: number;
  /** How many were to be in flight when it asked last. */
  inFlight: number;
  heardAt: number;
};

export type Cause = 'rate' | 'concurrency' | 'quota';

/** After a 429 all requests wait; then one real request, the probe, finds out whether they may go on. */
export type Pause = {
  sinceAt: number;
  /** Milliseconds in which nobody asked although it was over. */
  idleMs: number;
  /** For how long requests were refused, and were told to wait at the latest refusal, without `idleMs`. */
  refusedMs: number;
  toldMs: number;
  resumeAt: number;
  /** The end of the API's Retry-After, where it sent one. */
  toldAt: number | null;
  /** Probes that were refused. */
  failures: number;
  /** The probe in flight. */
  probe: { owner: string; job: string } | null;
  /** The most likely cause. */
  cause: Cause;
  /** Requests in flight at the refusal; 1 where several were refused together, since their number is not the cause then. */
  inFlight: number;
};

/** How a job's endpoint responds. */
export type JobState = {
  /**
   * The key lacks the scope of this endpoint, by so many refusals in a row; one request may try again at `retryAt`. `isTried` once that
   * was sent: other refusals are of requests that were in flight before.
   */
  forbidden: { retryAt: number; refusals: number; isTried: boolean } | null;
  /**
   * The endpoint failed `failures` times in a row; it is left alone until `resumeAt`, whoever asks until `toldAt`: the end of its
   * Retry-After. `isBlocked`: by what lies between us and the API.
   */
  outage: { failures: number; resumeAt: number; toldAt: number; isBlocked: boolean } | null;
  /** Whether its responses carry what is left of the quota. */
  seesQuota: boolean;
  askedAt: number;
};

/** Requests sent, prefetches not refunded, and how many a new mirror may waste. All fade: after a day a third is left. */
export type PrefetchAccount = { requests: number; wasted: number; allowance: number; asOfAt: number | null };

/** Distinguishes a key from another one by a few digits of its digest with `salt`. */
export type KeyMark = { salt: string; digest: string };

/** So many failed requests may be repeated soon: a short failure costs each of five jobs a second try. */
export const MAX_RETRY_CREDIT = 10;

/** A new mirror may waste so many prefetches, so that its first walk does not make a hundred requests one by one. */
const FIRST_ALLOWANCE = 4;

export function initialState(): State {
  return {
    version: 5,
    seenAt: 0,
    latencyMs: null,
    leases: {},
    pause: null,
    keyRefused: null,
    refusedKey: null,
    jobs: {},
    rate: initialRate(),
    concurrency: initialConcurrency(),
    quota: quotas.initialQuota(),
    prefetch: { requests: 0, wasted: 0, allowance: FIRST_ALLOWANCE, asOfAt: null },
    retryCredit: MAX_RETRY_CREDIT,
    unpaidRetryAt: 0,
  };
}

/** What happens to the governor. `roll` is a random number in [0, 1). */
export type Event =
  /**
   * A process begins. What an earlier one of the same name did not account for counts as spent. `again`: a person
   * wants what was refused or failed tried once more.
   */
  | { type: 'start'; owner: string; again: boolean }
  /** A process is known to have ended: its permits count as spent. */
  | { type: 'gone'; owner: string }
  /** A job asks for up to `want` permits. `inFlight`: requests of this process, once the first of them is sent. */
  | ({ type: 'ask'; owner: string; job: string; want: number; inFlight: number } & PrefetchOptions & {
        /** Prefetches of this process that have not proven needed yet. */
        unproven?: number;
      })
  /**
   * A response came. `inFlight`: requests of this process when it was sent, itself included. `othersInFlight` of other
   * processes and `responsesBefore` known then: both as the decision gave them.
   */
  | ({
      type: 'response';
      status: number;
      /** Not the API gave it, but something between us and the API. */
      isBlocked?: boolean;
      inFlight: number;
      othersInFlight: number;
      responsesBefore: number;
      key: KeyMark | null;
    } & EndedRequest &
      LimitReport)
  /** No response came, or we stopped before one could. */
  | ({ type: 'lost'; stopped?: boolean } & EndedRequest)
  /** How many permits a process holds, in flight or unused. It knows best: the state may be a new one. */
  | { type: 'holds'; owner: string; permits: number; maxInFlight: number; inFlight: number }
  /** Gives back unused permits and prefetch budget. */
  | { type: 'release'; owner: string; permits: number; prefetchBudget?: number }
  /** The clock was set, or time passed unnoticed: measurements across that moment are worth nothing. */
  | { type: 'clock' }
  /** The key changed. */
  | { type: 'key' };

export type EventOf<Type extends Event['type']> = Extract<Event, { type: Type }>;

export type PrefetchOptions = {
  /** Requests of the job that will follow this one; 0 where nobody knows. */
  upcoming?: number;
  /** Whether this request is sent before its turn. */
  isPrefetch?: boolean;
};

type EndedRequest = { owner: string; job: string; roll: number };

/** What a response says of the limits, and how long it took. */
export type LimitReport = {
  limit: number | null;
  remaining: number | null;
  retryAfterMs: number | null;
  latencyMs: number;
};

export type Decision = PermitDecision | WaitDecision | RefusedDecision | { noted: true };

type PermitDecision = {
  /** Granted for so many requests; stale after `PERMIT_TTL_MS`. */
  permits: number;
  /** Requests of this process that may be in flight at once, and how many of other processes may be beside them. */
  maxInFlight: number;
  othersInFlight: number;
  /** Prefetches that may be sent, none of them where `maxPrefetchInFlight` requests are in flight. */
  prefetchBudget: number;
  maxPrefetchInFlight: number;
  /** Responses that the quota was known by: one that others overtake may tell of the pool as it was before them. */
  responsesBefore: number;
};

export type WaitDecision = { wait: { until: number; reason: WaitReason } };

export type RefusedDecision = { refused: 'key_refused' | 'forbidden'; until: number };

/** Older permits are given back unused: too much may have changed. */
export const PERMIT_TTL_MS = 1_000;

/** A mirror's copy of a shared account's state: with its name, when it was last seen, and its number of processes. */
export type StateCopy = State & { account: { name: string; processes: number; heardAt: number } };

/** Whether a newer release wrote it. */
export function isNewer(kept: unknown): boolean {
  const version = typeof kept === 'object' && kept !== null && 'version' in kept ? kept.version : 0;
  return Number(version) > initialState().version;
}

/** The kept state; a new one where it is absent, damaged or of another version. */
export function readState(kept: unknown): State {
  const initial = initialState();
  const { account: _, ...state } = { ...(typeof kept === 'object' ? kept : {}) } as Partial<StateCopy>;
  return hasShape(initial, state) ? (state as State) : initial;
}

/** Whether all members of `model` are there with their types. Does not look into nullable members and maps. */
function hasShape(model: unknown, kept: unknown): boolean {
  if (model === null) return kept !== undefined;
  if (typeof model !== 'object') return typeof kept === typeof model;
  if (typeof kept !== 'object' || kept === null) return false;
  return Object.entries(model).every(([name, inner]) =>
    name === 'version'
      ? (kept as State).version === inner
      : hasShape(inner, (kept as Record<string, unknown>)[name]),
  );
}

/** Processes of one machine may read its clock in another order than that of their transactions. */
const READ_ORDER_TOLERANCE_MS = 100;
/** NTP sets a clock by less, which spoils no period worth knowing. The way to a remote state and back takes less, too. */
export const CLOCK_JUMP_MS = 10_000;

/**
 * A copy of the state, seen at `now`. Where the clock went back, all times go back with it: so a Retry-After is neither
 * lengthened nor cut short.
 */
export function onTime(before: State, now: number): State {
  const back = before.seenAt - now;
  const state = shiftTimes(before, back > READ_ORDER_TOLERANCE_MS ? -back : 0);
  state.seenAt = now;
  // Nobody knows how long the clock had been ahead.
  if (back > CLOCK_JUMP_MS) forgetMoments(state, now);
  return state;
}

/** The same where the clock of the state jumped to `now`. */
export function afterJump(before: State, now: number): State {
  const state = onTime(before, now);
  forgetMoments(state, now);
  return state;
}

/** Forgets measurements across a jump of the clock. */
export function forgetMoments(state: State, now: number): void {
  restartMeasurement(state.rate, now);
  quotas.forgetMoments(state.quota, now);
  makeProbeDue(state, now);
}

/** Where requests wait for a quota without the API's word until when, one goes at once as a probe. */
export function makeProbeDue({ pause, quota }: State, now: number): void {
  quota.probeDueAt = now;
  if (pause?.cause === 'quota' && pause.toldAt === null) pause.resumeAt = Math.min(pause.resumeAt, now);
}

/** A deep copy with all its times moved by `ms`, but for 0, which means never. Every change makes one, so it spreads, which is fast. */
export function shiftTimes<T extends object>(value: T, ms: number): T {
  const copy = { ...value } as Record<string, unknown>;
  for (const name in copy) {
    const inner = copy[name];
    if (typeof inner === 'object' && inner !== null) copy[name] = shiftTimes(inner, ms);
    else if (ms !== 0 && typeof inner === 'number' && inner !== 0 && name.endsWith('At'))
      copy[name] = inner + ms;
  }
  return copy as T;
}
