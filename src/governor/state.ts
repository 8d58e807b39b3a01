/**
 * What the governor knows, as plain JSON: it outlives every process and is shared by all of them.
 * Every epoch time (milliseconds) has a name that ends in `At`, and nothing else has.
 */

import { type Ahead, initialAhead } from './ahead.ts';
import { type Concurrency, initialConcurrency } from './concurrency.ts';
import type { KeyMark } from './events.ts';
import { initialPace, measureAnew, type Pace } from './pace.ts';
import * as quotas from './quota.ts';

export type State = {
  version: 4;
  /** Time of the latest event. */
  seenAt: number;
  /** Usual time from a call to its answer, once there was one. */
  latencyMs: number | null;
  /** By process: the permits that it holds. They are spent until it says otherwise. */
  leases: Record<string, Lease>;
  /** All calls wait: the account met a limit. */
  pause: Pause | null;
  /** The API refuses the key; one call may try it again at `probeAt`. */
  keyRefused: { probeAt: number } | null;
  /** The key that was refused last, here or at one endpoint. */
  refusedKey: KeyMark | null;
  jobs: Record<string, JobState>;
  rate: Pace;
  concurrency: Concurrency;
  quota: quotas.Quota;
  ahead: Ahead;
  /** Failed calls that may still be tried again soon. */
  retryCredit: number;
  /** Without any, one call of all endpoints may try again then: else nobody would notice that all are well. */
  unpaidAt: number;
};

export type Lease = {
  /** Calls allowed and not yet answered or given back. */
  calls: number;
  /** How many of them may be under way at once. */
  parallel: number;
  /** How many were to be when it asked last. */
  underWay: number;
  heardAt: number;
};

export type Cause = 'rate' | 'concurrency' | 'quota';

/** After an answer 429 all calls wait; then one real call, the probe, finds out whether they may go on. */
export type Pause = {
  sinceAt: number;
  /** Milliseconds in which nobody asked though it was over: they tell nothing of the API. */
  idleMs: number;
  /** For how long calls were refused, and were told to wait at the latest refusal, without those. */
  refusedMs: number;
  toldMs: number;
  resumeAt: number;
  /** Until when the API itself said to wait, where it did. */
  toldAt: number | null;
  /** Probes that were refused. */
  failures: number;
  /** The probe that is under way. */
  probe: { owner: string; job: string } | null;
  /** What it is most likely about. */
  cause: Cause;
  /** Calls under way when one was refused; 1 where others were refused with it, since their number was not it. */
  inflight: number;
};

/** How a job's endpoint answers. */
export type JobState = {
  /** The key lacks the scope of this endpoint; one call may try again at `probeAt`. */
  forbidden: { probeAt: number } | null;
  /** The endpoint failed `failures` times in a row; it is left alone until `resumeAt`. */
  outage: { failures: number; resumeAt: number } | null;
  /** Whether its answers tell what is left of the quota. */
  seesQuota: boolean;
  askedAt: number;
};

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** Failed calls that are tried again soon: a blip of some seconds costs five jobs a second try each. */
export const MOST_CREDIT = 10;

export function initialState(): State {
  return {
    version: 4,
    seenAt: 0,
    latencyMs: null,
    leases: {},
    pause: null,
    keyRefused: null,
    refusedKey: null,
    jobs: {},
    rate: initialPace(),
    concurrency: initialConcurrency(),
    quota: quotas.initialQuota(),
    ahead: initialAhead(),
    retryCredit: MOST_CREDIT,
    unpaidAt: 0,
  };
}

/** A copy of a state that lies elsewhere: of which account it is, and when it was last seen, by so many processes. */
export type StateCopy = State & { account: { name: string; processes: number; heardAt: number } };

/** Whether a newer release has written it. */
export function isNewer(kept: unknown): boolean {
  const version = typeof kept === 'object' && kept !== null && 'version' in kept ? kept.version : 0;
  return Number(version) > initialState().version;
}

/** The state as it was kept; one that is absent, damaged or of another version is begun anew. */
export function readState(kept: unknown): State {
  const initial = initialState();
  const whole: object = { ...(typeof kept === 'object' ? kept : {}) };
  if ('account' in whole) delete whole.account;
  return sameShape(initial, whole) ? (whole as State) : initial;
}

/** Whether all that `model` always has is there with its type; what may be null or keyed by name is not entered. */
function sameShape(model: unknown, kept: unknown): boolean {
  if (model === null) return kept !== undefined;
  if (typeof model !== 'object') return typeof kept === typeof model;
  if (typeof kept !== 'object' || kept === null) return false;
  return Object.entries(model).every(([name, inner]) =>
    name === 'version'
      ? (kept as State).version === inner
      : sameShape(inner, (kept as Record<string, unknown>)[name]),
  );
}

/** Processes on one machine read one clock, yet not always in the order of their transactions. */
const CLOCK_TOLERANCE_MS = 100;
/** A clock that is kept by NTP is set by less than this, which spoils no period worth knowing. */
const CLOCK_JUMP_MS = 10_000;

/**
 * A copy of the state, seen at `now`. Where the clock went back, all times go back with it: what the API told us to
 * wait lasts no longer than it was meant to, and is not cut short.
 */
export function onTime(before: State, now: number): State {
  const back = before.seenAt - now;
  const state = moved(before, back > CLOCK_TOLERANCE_MS ? -back : 0);
  state.seenAt = now;
  // How long it had been ahead nobody knows.
  if (back > CLOCK_JUMP_MS) forgetMoments(state, now);
  return state;
}

/** The same where the clock by which it lives jumped to `now`. */
export function afterJump(before: State, now: number): State {
  const state = onTime(before, now);
  forgetMoments(state, now);
  return state;
}

/** Forgets what was reckoned from one moment to another, across a jump of the clock. */
export function forgetMoments(state: State, now: number): void {
  measureAnew(state.rate, now);
  quotas.forgetMoments(state.quota, now);
  probeNow(state, now);
}

/** Where calls wait for a quota of which the API did not say when more comes, one goes at once to see. */
export function probeNow({ pause, quota }: State, now: number): void {
  quota.dueAt = now;
  if (pause?.cause === 'quota' && pause.toldAt === null) pause.resumeAt = Math.min(pause.resumeAt, now);
}

/** A deep copy with all its times moved by `ms`. Every event makes one, so it spreads, which is fast. */
export function moved<T extends object>(value: T, ms: number): T {
  const copy = { ...value } as Record<string, unknown>;
  for (const name in copy) {
    const inner = copy[name];
    if (typeof inner === 'object' && inner !== null) copy[name] = moved(inner, ms);
    else if (ms !== 0 && typeof inner === 'number' && name.endsWith('At')) copy[name] = inner + ms;
  }
  return copy as T;
}
