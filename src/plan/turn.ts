/**
 * What a dataset runs next, and when: a walk where one is due, else a glance, as far apart as the plan says. Without turns, the
 * first datasets would take all calls, and everything would grow old until more come.
 */

import { MINUTE_MS } from '../base/clock.ts';
import { nextDue } from '../base/schedule.ts';
import type { Config } from '../config.ts';
import { datasetsOf } from '../job/list.ts';
import type { Job } from '../job.ts';
import { type DatasetPlan, type DayPlan, readPlan } from '../plan.ts';
import type { Store } from '../store.ts';

export type Turns = {
  /** What the job runs next, and when; where nothing keeps it waiting, not after now. */
  of(job: Job): Turn;
  /** When the job is next due, in epoch milliseconds: by its schedule since `last`, and by its turn. Null where it is switched off. */
  nextDue(job: Job, last: number | null): number | null;
};

export type Turn = {
  /** When it may run, in epoch milliseconds; not after now where nothing keeps it waiting. */
  at: number;
  /** When to ask again, if it may not run yet: other datasets may have left some of their calls by then. */
  askAt: number;
  kind: 'walk' | 'glance';
};

type TurnsParts = {
  config: Config;
  jobs: readonly Job[];
  store: Pick<Store, 'lastRun' | 'lastLook' | 'lacksWalk'>;
};

/** What a walk costs changes slowly; what is left of a short period changes fast. */
const PLANNED_FOR_MS = MINUTE_MS;

export function createTurns({ config, jobs, store }: TurnsParts, now: () => number): Turns {
  let plan: DayPlan | undefined;
  /** By job, when the last look began that the plan knows: a later one makes the plan anew. */
  let known = new Map<string, number | null>();

  function planAt(name: string): DayPlan {
    const isRecent = plan && Math.abs(now() - plan.at) < PLANNED_FOR_MS && now() < resetOf(plan);
    if (plan && isRecent && known.get(name) === store.lastLook(name)) return plan;
    known = new Map(jobs.map((job) => [job.name, store.lastLook(job.name)]));
    plan = readPlan(config.dir, datasetsOf(jobs, config.schedules), now());
    return plan;
  }

  function turnOf({ name }: Job): Turn {
    const made = planAt(name);
    const planned = made.datasets.find(({ job }) => job === name);
    const state: DatasetState = {
      planned,
      // A glance that met no known row has a gap behind it.
      walkedAt: store.lacksWalk(name) ? null : store.lastRun(name),
      lookedAt: store.lastLook(name),
      moreAt: resetOf(made),
    };
    return nextTurn(state, now());
  }

  return {
    of: turnOf,
    nextDue(job, last) {
      const scheduled = nextDue(config.schedules[job.name] ?? 'off', last, now());
      return scheduled && Math.max(scheduled, turnOf(job).at);
    },
  };
}

const resetOf = ({ quota }: DayPlan) => quota.resets.at ?? Number.POSITIVE_INFINITY;

/** What is known of a dataset when its next run is decided. */
export type DatasetState = {
  planned: Pick<DatasetPlan, 'targetSeconds' | 'everySeconds' | 'glanceEverySeconds'> | undefined;
  /** When the last finished walk began; null where there was none, where one is unfinished, or the clock was ahead. */
  walkedAt: number | null;
  /** The same of the last look, walk or glance; null also where a glance is unfinished. */
  lookedAt: number | null;
  /** When more calls come; infinite where that is not known. */
  moreAt: number;
};

/** A glance is left out when a walk follows within this part of its interval: the walk looks at the head, too. */
const LOST_GLANCE = 1 / 10;

/** Walks as often as the plan says, and glances between. An unfinished walk is due at once. */
export function nextTurn({ planned, walkedAt, lookedAt, moreAt }: DatasetState, now: number): Turn {
  const { targetSeconds, everySeconds, glanceEverySeconds } = planned ?? {};
  // The schedule says when, unless the plan makes it longer.
  if (walkedAt === null || !everySeconds || everySeconds <= (targetSeconds ?? 0))
    return { at: now, askAt: now, kind: 'walk' };
  const after = (last: number, seconds: number) => Math.max(now, Math.min(last, now) + seconds * 1_000);
  const walkAt = after(walkedAt, everySeconds);
  const glanceAt =
    typeof glanceEverySeconds !== 'number'
      ? Number.POSITIVE_INFINITY
      : lookedAt === null
        ? now
        : after(lookedAt, glanceEverySeconds);
  const isGlance = glanceAt + (glanceEverySeconds ?? 0) * 1_000 * LOST_GLANCE < walkAt;
  const at = isGlance ? glanceAt : walkAt;
  const askAt = Math.min(at, moreAt > now ? moreAt : at, now + Math.max(MINUTE_MS, (at - now) / 2));
  return { at, askAt, kind: isGlance ? 'glance' : 'walk' };
}
