/** Where the schedules ask for more calls than there are, runs wait for their turn, spaced as `plan` has it, and glance. */

import type { App } from '../app.ts';
import type { Job } from '../job.ts';
import { datasetsOf } from '../job-list.ts';
import { nextTurn, plannedForMs, type Turn } from '../plan/turn.ts';
import { type DayPlan, readPlan } from '../plan.ts';

export type Turns = {
  /** What the job runs next, and when; where nothing keeps it waiting, not after now. */
  of(job: Job): Turn;
};

/** Without this, whoever comes first takes the calls until none is left, and all datasets grow old until more come. */
export function createTurns({ config, jobs, store }: App, now: () => number): Turns {
  let plan: DayPlan | undefined;
  /** The last walks that it knows of, by job: from each it may learn. */
  let known = new Map<string, number | null>();

  function planned(name: string, walkedAt: number | null): DayPlan {
    if (plan && isRecent(plan, now()) && known.get(name) === walkedAt) return plan;
    const datasets = datasetsOf(jobs, config.schedules);
    known = new Map(jobs.map((job) => [job.name, store.lastRun(job.name)]));
    plan = readPlan(config.dir, datasets, config.spending, now());
    return plan;
  }

  return {
    of({ name }) {
      const walkedAt = store.lastRun(name);
      const { datasets, quota } = planned(name, walkedAt);
      const dataset = datasets.find(({ job }) => job === name);
      const standing = {
        schedule: config.schedules[name] ?? 'off',
        targetSeconds: dataset?.targetSeconds ?? null,
        intervals: dataset?.now ?? null,
        walkedAt,
        lookedAt: store.lastLook(name),
        moreAt: nextReset(quota),
      };
      return nextTurn(standing, now());
    },
  };
}

function isRecent({ at, quota }: DayPlan, now: number): boolean {
  return Math.abs(now - at) < plannedForMs(nextReset(quota) - now);
}

/** In epoch milliseconds; infinite where it is not known. */
const nextReset = ({ refill }: DayPlan['quota']) =>
  refill.kind === 'window' ? refill.nextBy : Number.POSITIVE_INFINITY;
