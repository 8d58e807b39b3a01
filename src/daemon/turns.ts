/** Where the schedules ask for more calls than there are, runs wait for their turn, spaced as `plan` has it. */

import type { App } from '../app.ts';
import { DAY_MS } from '../clock.ts';
import { type Job, listed } from '../job.ts';
import { datasetsOf } from '../job-list.ts';
import { type DayPlan, readPlan } from '../plan.ts';
import { intervalOf } from '../schedule.ts';

export type Turns = {
  /** When the job may run next, in epoch milliseconds; not after now where nothing keeps it waiting. */
  of(job: Job): number;
};

/** What a walk costs changes slowly, what is left of a short period does not. */
const PLANNED_FOR = { mostMs: 60_000, leastMs: 1_000, partOfWait: 0.1 };

/** However little is left: more may have been bought, which only a call can tell. */
const LONGEST_MS = DAY_MS;

/**
 * Without this, whoever comes first takes the calls until none is left, and all datasets grow old until more come.
 * An unfinished walk is not kept from going on.
 */
export function createTurns({ config, jobs, store }: App, now: () => number): Turns {
  let plan: DayPlan | undefined;

  function planned(): DayPlan {
    if (!plan || !isRecent(plan, now()))
      plan = readPlan(config.dir, datasetsOf(jobs.map(listed), config.schedules), now());
    return plan;
  }

  return {
    of(job) {
      const last = store.lastRun(job.name);
      const { stretchNow, datasets, quota } = planned();
      const dataset = datasets.find((dataset) => dataset.job === job.name);
      if (last === null || !dataset?.drawsOnQuota || stretchNow <= job.weight) return now();
      const interval = intervalOf(config.schedules[job.name] ?? 'off', last);
      // Switched off since it was queued: it has no turn.
      if (interval === Number.POSITIVE_INFINITY) return now();
      const wait = Math.min((interval * stretchNow) / job.weight, Math.max(interval, LONGEST_MS));
      // The clock may have been ahead then.
      return Math.min(Math.min(last, now()) + wait, Math.max(nextReset(quota), now()));
    },
  };
}

function isRecent({ at, quota }: DayPlan, now: number): boolean {
  const { mostMs, leastMs, partOfWait } = PLANNED_FOR;
  return Math.abs(now - at) < Math.min(mostMs, Math.max(leastMs, (nextReset(quota) - now) * partOfWait));
}

/** In epoch milliseconds; infinite where it is not known. */
const nextReset = ({ refill }: DayPlan['quota']) =>
  refill.kind === 'window' ? refill.nextBy : Number.POSITIVE_INFINITY;
