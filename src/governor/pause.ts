/** After an answer 429 all calls wait; then one real call tells whether they may go on, and what was met. */

import type { WaitReason } from '../errors.ts';

export type Cause = 'rate' | 'concurrency' | 'quota';

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
  /** Calls that tried and were refused again. */
  failures: number;
  /** The call that is trying now. */
  probe: { owner: string; job: string } | null;
  cause: Cause;
  /** Calls under way when the first was refused. */
  inflight: number;
};

/** Retry-After counts in seconds; a longer one than a day is nonsense, or a ban that a person has to look at. */
export const SHORTEST_MS = 1_000;
const LONGEST_MS = 24 * 3_600_000;
/** A refusal that lasts longer than a minute, and the second by which Retry-After is rounded, is not one of pace. */
const LONGEST_RATE_MS = 61_000;
/** When the windows that people choose for a pace are over. */
const tries = [1_000, 10_000, LONGEST_RATE_MS] as const;
/** Who waits asks again within this time; later, nobody was there to ask. */
const PROMPT_MS = 2_000;

/** @param inflight calls under way when the first was refused. */
export function begun(inflight: number, now: number): Pause {
  return {
    sinceAt: now,
    idleMs: 0,
    refusedMs: 0,
    toldMs: 0,
    resumeAt: now,
    toldAt: null,
    failures: 0,
    probe: null,
    cause: 'rate',
    inflight,
  };
}

export function lengthened(pause: Pause, now: number): Pause {
  const refusedMs = now - pause.sinceAt - pause.idleMs;
  return { ...pause, refusedMs, failures: pause.failures + 1, probe: null };
}

/** A call goes to see whether it is over. */
export function probed(pause: Pause, probe: { owner: string; job: string }, now: number): Pause {
  const idleMs = pause.idleMs + Math.max(0, now - pause.resumeAt - PROMPT_MS);
  return { ...pause, probe, idleMs, resumeAt: now };
}

export function reasonOf(pause: Pause): WaitReason {
  return pause.toldAt === null ? pause.cause : 'retry_after';
}

/** A usable Retry-After in milliseconds, or null: absent, nonsense or in the past. */
export function usableRetryAfter(ms: number | null): number | null {
  return ms === null || !Number.isFinite(ms) || ms <= 0
    ? null
    : Math.min(LONGEST_MS, Math.max(SHORTEST_MS, ms));
}

/** A little later than asked, so that those who were refused together do not come back together. */
export function withJitter(ms: number, roll: number): number {
  return ms + roll * Math.min(5_000, Math.max(250, 0.1 * ms));
}

/**
 * How long to wait where the API did not say: as long as recoveries took so far, `soon` and at the `longest`; then
 * until the next usual window is over, and beyond those twice as long each time. All in milliseconds.
 */
export function ownWait(
  { failures, refusedMs }: Pause,
  { soon, longest }: { soon: number; longest: number },
): number {
  if (failures === 0) return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, soon));
  const known = Math.max(2 * refusedMs, tries[1]);
  const next = longest > known ? known : tries.find((after) => after > 1.5 * refusedMs);
  return Math.min(LONGEST_MS, next === undefined ? refusedMs : next - refusedMs);
}

/** Whether calls were refused, or told to wait, beyond what is usual for a pace. */
export function lastsTooLongForRate({ refusedMs, toldMs }: Pause): boolean {
  return refusedMs + toldMs > LONGEST_RATE_MS;
}

export function isProbe(pause: Pause, owner: string, job: string): boolean {
  return pause.probe?.owner === owner && pause.probe.job === job;
}
