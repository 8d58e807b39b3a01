/**
 * What a dataset runs next, and when: a walk where one is due, else a glance, as far apart as the plan says. Without turns, the
 * first datasets would take all calls, and everything would grow old until more come.
 */

import { DAY_MS } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Job } from '../job.ts';
import { datasetsOf } from '../job-list.ts';
import { type DayPlan, type Intervals, readPlan } from '../plan.ts';
import { intervalOf, nextDue, type Schedule } from '../schedule.ts';
import type { Store } from '../store.ts';

export type Turns = {
  /** What the job runs next, and when; where nothing keeps it waiting, not after now. */
  of(job: Job): Turn;
  /** When the job is next due, in epoch milliseconds: by its schedule since `last`, and by its turn. Null where it is switched off. */
  nextDue(job: Job, last: number | null): number | null;
};

type TurnsParts = { config: Config; jobs: readonly Job[]; store: Pick<Store, 'lastRun' | 'lastLook'> };

export function createTurns({ config, jobs, store }: TurnsParts, now: () => number): Turns {
  let plan: DayPlan | undefined;
  /** By job, when the last walk began that the plan knows: a later one makes the plan anew. */
  let known = new Map<string, number | null>();

  function planAt(name: string, walkedAt: number | null): DayPlan {
    if (plan && isRecent(plan, now()) && known.get(name) === walkedAt) return plan;
    known = new Map(jobs.map((job) => [job.name, store.lastRun(job.name)]));
    plan = readPlan(config.dir, datasetsOf(jobs, config.schedules), config.spending, now());
    return plan;
  }

  const scheduleOf = (name: string) => config.schedules[name] ?? 'off';

  function turnOf({ name }: Job): Turn {
    const walkedAt = store.lastRun(name);
    const { datasets, quota } = planAt(name, walkedAt);
    const dataset = datasets.find(({ job }) => job === name);
    const state: DatasetState = {
      schedule: scheduleOf(name),
      targetSeconds: dataset?.targetSeconds ?? null,
      intervals: dataset?.now ?? null,
      walkedAt,
      lookedAt: store.lastLook(name),
      moreAt: nextReset(quota),
    };
    return nextTurn(state, now());
  }

  return {
    of: turnOf,
    nextDue(job, last) {
      const scheduled = nextDue(scheduleOf(job.name), last, now());
      return scheduled && Math.max(scheduled, turnOf(job).at);
    },
  };
}

function isRecent({ at, quota }: DayPlan, now: number): boolean {
  return Math.abs(now - at) < plannedForMs(nextReset(quota) - now);
}

/** In epoch milliseconds; infinite where it is not known. */
const nextReset = ({ refill }: DayPlan['quota']) =>
  refill.kind === 'window' ? refill.nextBy : Number.POSITIVE_INFINITY;

export type Turn = {
  /** When it may run, in epoch milliseconds; not after now where nothing keeps it waiting. */
  at: number;
  /** When to ask again, if it may not run yet: other datasets may have left some of their calls by then. */
  askAt: number;
  kind: 'walk' | 'glance';
};

/** What is known of a dataset when its next run is decided. */
export type DatasetState = {
  schedule: Schedule;
  /** What the schedule asks for in the plan's day: the longest time between runs. */
  targetSeconds: number | null;
  /** Null where there is none: it is switched off, or what a walk costs is not known. */
  intervals: Intervals | null;
  /** When the last finished walk began; null where there was none, where one is unfinished, or the clock was ahead. */
  walkedAt: number | null;
  /** The same of the last look, walk or glance; null also where a glance is unfinished. */
  lookedAt: number | null;
  /** When more calls come; infinite where that is not known. */
  moreAt: number;
};

/** The longest wait of a walk, however little is left: more calls may have been bought, which only a call can tell. */
const LONGEST_WAIT_MS = DAY_MS;

/** A glance is left out when a walk follows within this part of its interval: the walk looks at the head, too. */
const LOST_GLANCE = 1 / 10;

/** A dataset that waits for more calls asks again after half of the time, a minute at least. */
const ASKED_AGAIN = { part: 1 / 2, leastMs: 60_000 };

/** What a walk costs changes slowly; what is left of a short period changes fast. */
const PLANNED_FOR = { mostMs: 60_000, leastMs: 1_000, partOfWait: 0.1 };

/** How long turns go by one plan, in milliseconds. @param moreInMs until more calls come. */
export function plannedForMs(moreInMs: number): number {
  const { mostMs, leastMs, partOfWait } = PLANNED_FOR;
  return Math.min(mostMs, Math.max(leastMs, moreInMs * partOfWait));
}

/**
 * Decides what a dataset runs next, and when: walks as often as the plan says, and glances between. An unfinished walk is due at
 * once. When more calls come, everything that waits asks again.
 */
export function nextTurn(state: DatasetState, now: number): Turn {
  const { intervals, walkedAt, moreAt } = state;
  if (walkedAt === null || !intervals) return { at: now, askAt: now, kind: 'walk' };
  const until = Math.max(moreAt, now);
  const walkAt = Math.min(until, walkDue(state, intervals, walkedAt, now));
  const glanceAt = Math.min(until, glanceDue(state, intervals, now));
  const lostMs = (intervals.glanceEverySeconds ?? 0) * 1_000 * LOST_GLANCE;
  const isGlance = glanceAt + lostMs < walkAt;
  const at = isGlance ? glanceAt : walkAt;
  return { at, askAt: askAt(at, until, now), kind: isGlance ? 'glance' : 'walk' };
}

function askAt(at: number, until: number, now: number): number {
  const { part, leastMs } = ASKED_AGAIN;
  return at < until ? at : Math.min(at, now + Math.max(leastMs, (at - now) * part));
}

function walkDue(
  { schedule, targetSeconds, moreAt }: DatasetState,
  intervals: Intervals,
  walkedAt: number,
  now: number,
): number {
  const times = (intervals.everySeconds ?? 0) / (targetSeconds ?? Number.POSITIVE_INFINITY);
  const interval = intervalOf(schedule, walkedAt);
  // It was switched off since it was queued.
  if (interval === Number.POSITIVE_INFINITY) return now;
  const longest = Math.max(interval, LONGEST_WAIT_MS);
  if (intervals.waitsForMore) return moreAt - now <= LONGEST_WAIT_MS ? moreAt : due(walkedAt, longest, now);
  // The schedule says when.
  return times <= 1 ? now : due(walkedAt, Math.min(interval * times, longest), now);
}

function glanceDue(
  { targetSeconds, lookedAt }: DatasetState,
  { glanceEverySeconds }: Intervals,
  now: number,
): number {
  if (glanceEverySeconds === null) return Number.POSITIVE_INFINITY;
  if (lookedAt === null || glanceEverySeconds <= (targetSeconds ?? 0)) return now;
  return due(lookedAt, glanceEverySeconds * 1_000, now);
}

/** The clock may have been ahead at `last`. */
function due(last: number, everyMs: number, now: number): number {
  return Math.max(now, Math.min(last, now) + everyMs);
}
