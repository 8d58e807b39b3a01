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

/**
 * In [0, 1]. The calls must last until more come, then through every period of the day. Of short periods, so many in a row count
 * as one that what is asked for has the time of the shortest schedule to be read: a walk of more calls than a period brings only
 * takes some periods.
 */
export function chanceOfRunningDry(jobs: readonly SpacedJob[], budget: Budget): number {
  const { remaining, nextInMs, perPeriod, periodMs } = budget;
  const inOne = Math.max(1, Math.floor(shortestOf(jobs) / periodMs));
  const [calls, ms] = [inOne * perPeriod, inOne * periodMs];
  const first = Math.min(nextInMs + (inOne - 1) * periodMs, DAY_MS);
  const spans = Math.floor((DAY_MS - first) / ms);
  const rest = DAY_MS - first - spans * ms;
  const lasts = (calls: number, ms: number) => (ms > 0 ? chanceToLast(jobs, calls, ms) : 1);
  return (
    1 -
    lasts(remaining + (inOne - 1) * perPeriod, first) *
      lasts(calls, ms) ** spans *
      lasts(Math.ceil(rest / periodMs) * perPeriod, rest)
  );
}

/** The shortest time from one look to the next that a schedule asks for. */
function shortestOf(jobs: readonly SpacedJob[]): number {
  const running = jobs.filter(({ job }) => job.runs > 0);
  return Math.min(DAY_MS, ...running.map(({ job }) => job.longestMs));
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
