/** After an answer 429 all calls wait; then one real call tells whether they may go on, and what was met. */

import type { WaitReason } from '../errors.ts';

export type Cause = 'rate' | 'concurrency' | 'quota';

export type Pause = {
  sinceAt: number;
  /** When a call was last refused in it. */
  refusedAt: number;
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
  code: string | null;
};

/** How often each error code turned out to mean what. */
export type Verdicts = Record<string, Record<Cause, number>>;

export const SHORTEST_MS = 1_000;
const LONGEST_MS = 24 * 3_600_000;
/** A refusal that lasts longer than a minute, and the second by which Retry-After is rounded, is not one of pace. */
const LONGEST_RATE_MS = 61_000;
/** When the windows that people choose for a pace are over. */
const tries = [1_000, 10_000, LONGEST_RATE_MS] as const;
const LONGEST_CODE = 64;

export function begun(
  { inflight, errorCode }: { inflight: number; errorCode: string | null },
  now: number,
): Pause {
  const code = errorCode?.slice(0, LONGEST_CODE) ?? null;
  return {
    sinceAt: now,
    refusedAt: now,
    resumeAt: now,
    toldAt: null,
    failures: 0,
    probe: null,
    cause: 'rate',
    inflight,
    code,
  };
}

export function lengthened(pause: Pause, now: number): Pause {
  return { ...pause, refusedAt: now, failures: pause.failures + 1, probe: null };
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
  { failures, sinceAt }: Pause,
  { soon, longest }: { soon: number; longest: number },
  now: number,
): number {
  if (failures === 0) return Math.max(SHORTEST_MS, soon);
  const waited = now - sinceAt;
  const known = Math.max(2 * waited, tries[1]);
  const next = longest > known ? known : tries.find((after) => after > 1.5 * waited);
  return Math.min(LONGEST_MS, next === undefined ? waited : next - waited);
}

/** Whether calls were refused, or told to wait, beyond what is usual for a pace. */
export function lastsTooLongForRate({ sinceAt, refusedAt, toldAt }: Pause): boolean {
  return Math.max(refusedAt, toldAt ?? 0) - sinceAt > LONGEST_RATE_MS;
}

export function isProbe(pause: Pause, owner: string, job: string): boolean {
  return pause.probe?.owner === owner && pause.probe.job === job;
}

const MOST_CODES = 16;

export function noteVerdict(verdicts: Verdicts, code: string | null, cause: Cause): Verdicts {
  if (code === null) return verdicts;
  const counts = Object.hasOwn(verdicts, code) ? verdicts[code] : undefined;
  if (!counts && Object.keys(verdicts).length >= MOST_CODES) return verdicts;
  const before = counts ?? { rate: 0, concurrency: 0, quota: 0 };
  return { ...verdicts, [code]: { ...before, [cause]: before[cause] + 1 } };
}

/** The cause that an error code has meant every time so far, at least twice. */
export function knownCause(verdicts: Verdicts, code: string | null): Cause | null {
  if (code === null || !Object.hasOwn(verdicts, code)) return null;
  const met = Object.entries(verdicts[code] ?? {}).filter(([, times]) => times > 0);
  const [only] = met;
  return only && met.length === 1 && only[1] >= 2 ? (only[0] as Cause) : null;
}
