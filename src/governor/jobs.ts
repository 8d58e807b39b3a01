/** What is known of each job: how its endpoint answers. */

export type JobState = {
  /** The key lacks the scope of this endpoint; one call may try again at `probeAt`. */
  forbidden: { sinceAt: number; probeAt: number } | null;
  /** The endpoint failed `failures` times in a row; it is left alone until `resumeAt`. */
  outage: { failures: number; resumeAt: number } | null;
  /** Whether its answers tell what is left of the quota. */
  seesQuota: boolean;
  askedAt: number;
};

export function newJob(now: number): JobState {
  return {
    forbidden: null,
    outage: null,
    seesQuota: false,
    askedAt: now,
  };
}

/** From a hiccup to an outage of hours, which is noticed to be over within a quarter of an hour, or twice that. */
const FIRST_BACKOFF_MS = 1_000;
const LONGEST_BACKOFF_MS = 15 * 60_000;

/**
 * The endpoint is unavailable: it alone is left in peace, twice as long after each failure; not before `toldMs` in any
 * case. `roll` in [0, 1) spreads those who come back.
 */
export function failed(
  job: JobState,
  { toldMs, roll }: { toldMs: number | null; roll: number },
  now: number,
): JobState {
  const failures = (job.outage?.failures ?? 0) + 1;
  const doubled = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (failures - 1));
  return { ...job, outage: { failures, resumeAt: now + Math.max(doubled * (1 + roll), toldMs ?? 0) } };
}
