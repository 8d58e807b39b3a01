/** How likely the calls are to be used up before more come: arithmetic alone. */

import { DAY_MS } from '../clock.ts';
import {
  callsPerWalk,
  chanceOfChange,
  glancesPerDay,
  type PlannedJob,
  type Spacing,
  walksPerDay,
} from './spacing.ts';

/**
 * Calls that may be spent: so many until `nextInMs`, then `perPeriod` in each period; without the reserve and what
 * others take.
 */
export type Budget = { remaining: number; nextInMs: number; perPeriod: number; periodMs: number };

/** A job, and how often it is meant to run. */
export type SpacedJob = { job: PlannedJob; spacing: Spacing };

/** In [0, 1]. The calls must last until more come, then through every period of the day. */
export function chanceOfRunningDry(
  jobs: readonly SpacedJob[],
  { remaining, nextInMs, perPeriod, periodMs }: Budget,
): number {
  const first = Math.min(nextInMs, DAY_MS);
  const periods = Math.floor((DAY_MS - first) / periodMs);
  const rest = DAY_MS - first - periods * periodMs;
  const lasts = (calls: number, ms: number) => (ms > 0 ? chanceToLast(jobs, calls, ms) : 1);
  return 1 - lasts(remaining, first) * lasts(perPeriod, periodMs) ** periods * lasts(perPeriod, rest);
}

/** Each walk finds a change or not; over many walks the calls of a time are normally distributed. */
function chanceToLast(jobs: readonly SpacedJob[], calls: number, ms: number): number {
  let [mean, variance] = [0, 0];
  for (const { job, spacing } of jobs) {
    const perDay = walksPerDay(job, spacing);
    if (perDay === 0) continue;
    const walks = (perDay * ms) / DAY_MS;
    const chance = chanceOfChange(job, perDay);
    const ofOne = callsPerWalk(job, chance);
    const begun = walks % 1;
    mean += walks * ofOne + (glancesPerDay(job, spacing) * (job.glanceCalls ?? 0) * ms) / DAY_MS;
    variance += walks * chance * (1 - chance) * (job.changedCalls - job.unchangedCalls) ** 2;
    variance += begun * (1 - begun) * ofOne ** 2;
  }
  return normal((calls + 0.5 - mean) / Math.sqrt(Math.max(variance, 1e-9)));
}

/** The standard normal distribution, to 0.0002: Bowling et al., A logistic approximation (2009). */
const normal = (x: number) => 1 / (1 + Math.exp(-x * (1.5976 + 0.07056 * x * x)));
