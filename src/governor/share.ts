/** Who gets the calls when they are scarce: each job its due, and more to those further behind. */

import type { Standing } from './events.ts';
import { type JobState, usualPace } from './jobs.ts';

/** How many times its target age a job's data has, times its weight. */
export function lag({ age, target, weight }: Standing): number {
  if (!Number.isFinite(target) || target <= 0) return 0;
  return (Math.max(0, age) / target) * weight;
}

const LEAST_LAG = 0.1;
const MOST_LAG = 100;
/** A job that has not asked for so long is not waiting for anything. */
const ACTIVE_MS = 24 * 3_600_000;
/** A job that has asked so lately waits now. */
const WAITING_MS = 10_000;
/** While nobody knows when more calls come, each job's need is looked after this far ahead. */
const UNKNOWN_HORIZON_MS = 3_600_000;

/** `begunAt`: since when the calls that are left are being spent. `untilMore`: milliseconds, where that is known. */
export type Supply = { left: number; begunAt: number; untilMore: number | null };

/**
 * How many of the calls left are kept for jobs other than `asking` until more come: what each usually needs in
 * that time, at most its share, and one for each job that has had none of them yet.
 */
export function keptForOthers(
  jobs: Record<string, JobState>,
  asking: string,
  { left, begunAt, untilMore }: Supply,
  now: number,
): number {
  const active = Object.entries(jobs).filter(
    ([name, job]) => name === asking || (!job.forbidden && now - job.standing.askedAt < ACTIVE_MS),
  );
  const worths = active.map(([name, job]) => [name, job, worth(job, now)] as const);
  const total = worths.reduce((sum, [, , worth]) => sum + worth, 0);
  return worths
    .filter(([name]) => name !== asking)
    .reduce((sum, [, job, worth]) => {
      const need = usualPace(job, now) * (untilMore ?? UNKNOWN_HORIZON_MS);
      return sum + Math.max(hadNone(job, begunAt) ? 1 : 0, Math.min(need, (worth / total) * left));
    }, 0);
}

/** Whether the job got none of the calls that are being spent since `begunAt`: each gets one, however little worth. */
function hadNone({ usage }: JobState, begunAt: number): boolean {
  return usage.calls === 0 || usage.asOfAt < begunAt;
}

/**
 * Whether it is this job's turn: none that waits now has had no call yet, or is further behind. Calls kept for
 * jobs that do not want them are of use to nobody.
 */
export function isNext(
  jobs: Record<string, JobState>,
  asking: string,
  { begunAt }: Supply,
  now: number,
): boolean {
  const own = jobs[asking];
  if (!own || hadNone(own, begunAt)) return true;
  const waiting = Object.values(jobs).filter(
    (job) => job !== own && now - job.standing.askedAt <= WAITING_MS,
  );
  return waiting.every((job) => !hadNone(job, begunAt) && worth(job, now) <= worth(own, now));
}

/** Whether no job that sees the quota better than this one has been waiting since it was last seen. */
export function sighted(jobs: Record<string, JobState>, asking: string, seenAt: number): boolean {
  const better = Object.values(jobs).some((job) => job.seesQuota && job.standing.askedAt > seenAt);
  return jobs[asking]?.seesQuota === true || !better;
}

function worth(job: JobState, now: number): number {
  const { age, askedAt, ...rest } = job.standing;
  return Math.min(MOST_LAG, Math.max(LEAST_LAG, lag({ ...rest, age: age + now - askedAt })));
}
