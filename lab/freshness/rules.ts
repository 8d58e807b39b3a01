/** Rules for spending scarce calls: ours, walks alone as the release before had it, and others that were tried. */

import { DAY_MS } from '../../src/clock.ts';
import {
  callsPerDay,
  type JobPlan,
  LONGEST_MS,
  LONGEST_WITH_GLANCES_MS,
  type Means,
  type PlannedJob,
  planUntilMore,
  type Spacing,
  targetOf,
  waitsForMore,
} from '../../src/plan/spacing.ts';

/** What is known of a dataset when calls are shared out: what the program knows, and what only the rules here look at. */
export type KnownJob = PlannedJob & { found: Found };

/** Changes a day that looks found in the head, elsewhere, and gone. */
export type Found = { inHead: number; elsewhere: number; gone: number };

export type Planned = Pick<JobPlan, 'everyMs' | 'glanceEveryMs' | 'waitsForMore'>;

/** Times between looks until more calls come, in the order of the jobs. */
export type Rule = (jobs: readonly KnownJob[], means: Means) => readonly Planned[];

export const rules = {
  'walks alone': stretched(0),
  ours: (jobs, means) => planUntilMore(jobs, means).jobs,
  'stretched alike, a quarter for heads': waiting(stretched(1 / 4)),
  'by the root, nothing for heads': waiting(byRoot(0)),
  'by the root, a tenth for heads': waiting(byRoot(1 / 10)),
  'by the root, half for heads': waiting(byRoot(1 / 2)),
  'marginal value, removals count fully': waiting(byMarginalValue(1)),
  'marginal value, removals count a fifth': waiting(byMarginalValue(1 / 5)),
} as const satisfies Record<string, Rule>;

export type RuleName = keyof typeof rules;

/** The time between walks by a factor that is the same for all: the larger, the longer. */
type Interval = (job: KnownJob, factor: number) => number;

/** The same, and a walk that costs more than is left waits for more, as with ours. */
function waiting(rule: Rule): Rule {
  return (jobs, means) => {
    return rule(jobs, means).map((planned, at) => ({
      ...planned,
      waitsForMore: waitsForMore(jobs[at] as KnownJob, means.budget),
    }));
  };
}

/** Every interval is so many times its schedule, less for what weighs more. */
function stretched(part: number): Rule {
  return byFactor((job, factor) => (targetOf(job) * factor) / job.weight, part);
}

/** @param part of a dataset's calls that go to its head, where that is worth glances. */
function byRoot(part: number): Rule {
  return byFactor((job, factor) => Math.sqrt((factor * job.changedCalls * targetOf(job)) / job.weight), part);
}

function byFactor(interval: Interval, part: number): Rule {
  return fitted((job, factor) => {
    const everyMs = clipped(interval(job, factor), targetOf(job), LONGEST_MS);
    return divided(job, everyMs, part) ?? { everyMs, glanceEveryMs: null };
  });
}

/** The calls of a walk every `everyMs`, divided between head and all; undefined where no glances are wanted. */
function divided(job: KnownJob, everyMs: number, part: number): Spacing | undefined {
  const { changedCalls, glanceCalls } = job;
  const targetMs = targetOf(job);
  if (part === 0 || glanceCalls === null || everyMs <= targetMs) return undefined;
  const share = changedCalls / everyMs;
  const least = Math.min(0.1, part) * share;
  const head = Math.max(Math.min(part * share, share - changedCalls / LONGEST_WITH_GLANCES_MS), least);
  const ofHead = Math.min(glanceCalls / targetMs, head);
  return {
    everyMs: Math.min(changedCalls / (share - ofHead), Math.max(everyMs, LONGEST_WITH_GLANCES_MS)),
    glanceEveryMs: glanceCalls / ofHead,
  };
}

/**
 * Calls go where the next one would save the most waiting: each interval is the root of its calls ÷ what changes there, by
 * what looks have found.
 * @param removal what one is worth, where a new or changed row is worth 1
 */
function byMarginalValue(removal: number): Rule {
  return fitted((job, factor) => {
    const { found, weight, changedCalls, glanceCalls } = job;
    const targetMs = targetOf(job);
    const all = found.inHead + found.elsewhere + removal * found.gone;
    // A removal waits for two proofs: one and a half intervals, where a change waits for half of one.
    const rest = found.elsewhere + 3 * removal * found.gone;
    const worth = weight / targetMs / Math.max(all, 1e-3);
    const every = (calls: number, changes: number) =>
      Math.sqrt((factor * calls) / Math.max(worth * changes, 1e-12));
    const isWorth = glanceCalls !== null && found.inHead / glanceCalls > (1.5 * rest) / changedCalls;
    if (!isWorth) {
      return {
        everyMs: clipped(every(changedCalls, found.inHead + rest), targetMs, LONGEST_MS),
        glanceEveryMs: null,
      };
    }
    return {
      everyMs: clipped(every(changedCalls, rest), targetMs, LONGEST_WITH_GLANCES_MS),
      glanceEveryMs: Math.max(targetMs, every(glanceCalls, found.inHead)),
    };
  });
}

/** Spacings by the least factor for which the calls that are left last until more come; no walk waits. */
function fitted(spacing: (job: KnownJob, factor: number) => Spacing): Rule {
  return (jobs, { budget }) => {
    const perDay = budget === null ? Number.POSITIVE_INFINITY : rateOf(budget);
    const fits = (factor: number) => {
      let calls = 0;
      for (const job of jobs) calls += callsPerDay(job, spacing(job, factor));
      return calls <= perDay;
    };
    let [low, high] = [1e-6, 1e15];
    if (fits(low)) high = low;
    for (let step = 0; step < 60 && high > low; step += 1) {
      const middle = Math.sqrt(low * high);
      if (fits(middle)) high = middle;
      else low = middle;
    }
    return jobs.map((job) => ({ ...spacing(job, high), waitsForMore: false }));
  };
}

function rateOf({ remaining, nextInMs, perPeriod, periodMs }: NonNullable<Means['budget']>): number {
  return remaining < 1 ? (perPeriod * DAY_MS) / periodMs : (remaining * DAY_MS) / Math.max(1_000, nextInMs);
}

const clipped = (value: number, least: number, most: number) =>
  Math.min(Math.max(value, least), Math.max(least, most));
