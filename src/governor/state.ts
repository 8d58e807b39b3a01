/**
 * What the governor knows, as plain JSON: it outlives every process and is shared by all of them.
 * Every epoch time (milliseconds) has a name that ends in `At`, and nothing else has.
 */

import { type Concurrency, initialConcurrency } from './concurrency.ts';
import type { KeyMark } from './events.ts';
import type { JobState } from './jobs.ts';
import type { Leases } from './leases.ts';
import type { Pause } from './pause.ts';
import { forgetMoments, initialQuota, type Quota } from './quota.ts';
import { initialRate, type Rate, rested } from './rate.ts';

export type State = {
  version: 3;
  /** Time of the latest event. */
  seenAt: number;
  /** Usual time from a call to its answer, once there was one. */
  latencyMs: number | null;
  /** What each process may still do and has not answered for. */
  leases: Leases;
  /** All calls wait: the account met a limit. */
  pause: Pause | null;
  /** The API refuses the key; one call may try it again at `probeAt`. */
  keyRefused: { sinceAt: number; probeAt: number } | null;
  /** The key that was refused last, here or at one endpoint. */
  refusedKey: KeyMark | null;
  jobs: Record<string, JobState>;
  rate: Rate;
  concurrency: Concurrency;
  quota: Quota;
  /** Failed calls that may still be tried again soon. */
  retryCredit: number;
  /** Without any, one call of all endpoints may try again then: else nobody would notice that all are well. */
  unpaidAt: number;
};

export function initialState(): State {
  return {
    version: 3,
    seenAt: 0,
    latencyMs: null,
    leases: {},
    pause: null,
    keyRefused: null,
    refusedKey: null,
    jobs: {},
    rate: initialRate(),
    concurrency: initialConcurrency(),
    quota: initialQuota(),
    retryCredit: 10,
    unpaidAt: 0,
  };
}

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export function withJob(state: State, job: string, changed: JobState): State {
  return { ...state, jobs: { ...state.jobs, [job]: changed } };
}

/** The state as it was kept; one that is absent, damaged or of another version is begun anew. */
export function readState(kept: unknown): State {
  const initial = initialState();
  return sameShape(initial, kept) ? (kept as State) : initial;
}

/**
 * The state seen at `now`. Where the clock went back, all times go back with it: what the API told us to wait lasts
 * no longer than it was meant to, and is not cut short. How long it had been ahead nobody knows, so what was
 * reckoned from one moment to another goes.
 */
export function onTime(state: State, now: number): State {
  const back = state.seenAt - now;
  const seen = { ...(back > CLOCK_TOLERANCE_MS ? shiftTimes(state, -back) : state), seenAt: now };
  return back > CLOCK_JUMP_MS ? withoutMoments(seen, now) : seen;
}

/** Processes on one machine read one clock, yet not always in the order of their transactions. */
const CLOCK_TOLERANCE_MS = 100;
/** A clock that is kept by NTP is set by less than this, which spoils no period worth knowing. */
const CLOCK_JUMP_MS = 10_000;

/** The state without what was reckoned from one moment to another, across a jump of the clock. */
export function withoutMoments(state: State, now: number): State {
  return probeNow({ ...state, rate: rested(state.rate, now), quota: forgetMoments(state.quota, now) }, now);
}

/** Where calls wait for a quota of which the API did not say when more comes, one goes at once to see. */
export function probeNow(state: State, now: number): State {
  const { pause, quota } = state;
  const isOurs = pause?.cause === 'quota' && pause.toldAt === null;
  return {
    ...state,
    quota: { ...quota, dueAt: now },
    pause: isOurs ? { ...pause, resumeAt: Math.min(pause.resumeAt, now) } : pause,
  };
}

function shiftTimes<T>(value: T, by: number): T {
  if (Array.isArray(value)) return value.map((item) => shiftTimes(item, by)) as T;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) =>
      name.endsWith('At') && typeof inner === 'number' ? [name, inner + by] : [name, shiftTimes(inner, by)],
    ),
  ) as T;
}

/** Whether all that `model` always has is there with its type; what may be null or keyed by name is not entered. */
function sameShape(model: unknown, kept: unknown): boolean {
  if (model === null) return kept !== undefined;
  if (typeof model !== 'object')
    return typeof kept === typeof model && (typeof model !== 'number' || kept !== null);
  if (typeof kept !== 'object' || kept === null) return false;
  return Object.entries(model).every(([name, inner]) =>
    name === 'version'
      ? (kept as State).version === inner
      : sameShape(inner, (kept as Record<string, unknown>)[name]),
  );
}
