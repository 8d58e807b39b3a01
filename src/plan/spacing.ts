/** How far apart walks and glances are, so that their calls fit what there is: one rule, told in docs/calls.md. */

import { DAY_MS, HOUR_MS } from '../clock.ts';

export type PlannedJob = {
  name: string;
  /** Runs that its schedule asks for in a day, and the longest time from one to the next. */
  runs: number;
  longestMs: number;
  weight: number;
  /** Calls of a walk that finds the dataset changed, and of one that finds it as it was. */
  changedCalls: number;
  unchangedCalls: number;
  /** How often a walk had to read it whole. */
  changesPerDay: number;
  /** Calls of a glance at its head, where that is worth one; else null. */
  glanceCalls: number | null;
  /** Time of one call. */
  callMs: number;
  /** False where its calls do not count against the quota. */
  drawsOnQuota: boolean;
};

/** What is done with calls enough: `full` keeps the schedules by walks, `thrifty` by glances where they will do. */
export type Spending = 'full' | 'thrifty';

/** Time from one walk to the next, in the mean of a day, and from one look (either kind) to the next glance. */
export type Spacing = { everyMs: number; glanceEveryMs: number | null };

export type Spaced = {
  /** In the order of the jobs. */
  spacings: Spacing[];
  /** Whether the calls are too few for what the schedules ask. */
  isScarce: boolean;
};

/** However little there is, a dataset gets a walk a day; a little more often where glances come between. */
export const LONGEST_MS = DAY_MS;
export const LONGEST_WITH_GLANCES_MS = 23 * HOUR_MS;
/** Where glances keep a schedule, a walk is due once an hour. */
const THRIFTY_MS = HOUR_MS;
/** With fewer calls than so many walks a day of everything, glances make it worse. */
const LEAST_WALKS_PER_DAY = 2;
/** The parts of a dataset's calls that its head gets: mostly, and at least where the rest hardly makes a walk a day. */
const HEAD = { part: 1 / 4, least: 1 / 10 };
/** Glances come in this part of the time between walks, or not at all: a walk that costs little more looks as soon. */
const SOONER = 0.9;

/**
 * Where the schedules ask for too much, walks are spaced by the root of calls × target ÷ weight. That is best where every
 * dataset changes about as often as its schedule says, and nobody has to know how often it does. Jobs whose calls do not
 * count keep their schedules.
 * @param perDay calls that there are in 24 hours; infinite where that is not known.
 * @param usualPerDay calls of a usual day, which say whether there are enough for glances: `perDay` swings about them.
 */
export function spaceOut(
  jobs: readonly PlannedJob[],
  perDay: number,
  spending: Spending,
  usualPerDay = perDay,
): Spaced {
  const counted = jobs.filter((job) => job.drawsOnQuota && job.runs > 0 && job.changedCalls > 0);
  const fits = (spacingFor: (job: PlannedJob) => Spacing) =>
    sum(counted.map((job) => callsPerDay(job, spacingFor(job)))) <= perDay;
  const wish = (job: PlannedJob) => wishOf(job, spending);
  if (fits(wish)) return { spacings: jobs.map(wish), isScarce: false };
  const mayGlance = usualPerDay >= LEAST_WALKS_PER_DAY * sum(counted.map((job) => job.changedCalls));
  const spacedBy = (factor: number) => (job: PlannedJob) => spacingBy(factor, job, mayGlance);
  const factor = leastFactor((factor) => fits(spacedBy(factor)), counted);
  return { spacings: jobs.map(spacedBy(factor)), isScarce: true };
}

/** Calls of a day with these times between. */
export function callsPerDay(job: PlannedJob, spacing: Spacing): number {
  const walks = walksPerDay(job, spacing);
  const ofWalks = walks === 0 ? 0 : walks * callsPerWalk(job, chanceOfChange(job, walks));
  return ofWalks + glancesPerDay(job, spacing) * (job.glanceCalls ?? 0);
}

export function walksPerDay({ runs }: PlannedJob, { everyMs }: Spacing): number {
  return runs > 0 ? DAY_MS / everyMs : 0;
}

/** A walk looks at the head, too: on average it comes half a time between glances after the last one. */
export function glancesPerDay({ runs }: PlannedJob, { everyMs, glanceEveryMs }: Spacing): number {
  if (runs === 0 || glanceEveryMs === null) return 0;
  return Math.max(0, DAY_MS / glanceEveryMs - DAY_MS / everyMs / 2);
}

/** In the mean. @param chance that it finds the dataset changed. */
export function callsPerWalk({ changedCalls, unchangedCalls }: PlannedJob, chance: number): number {
  return unchangedCalls + chance * (changedCalls - unchangedCalls);
}

/** Changes come at random, so that some fall into one interval. */
export function chanceOfChange({ changesPerDay }: PlannedJob, walks: number): number {
  return 1 - Math.exp(-changesPerDay / walks);
}

/** Time from one run to the next that the schedule asks for, in the mean of a day. */
export function targetOf({ runs, longestMs }: PlannedJob): number {
  return runs > 0 ? DAY_MS / runs : longestMs;
}

/** What is done with calls enough. */
export function wishOf(job: PlannedJob, spending: Spending): Spacing {
  const targetMs = targetOf(job);
  const asScheduled = { everyMs: targetMs, glanceEveryMs: null };
  if (spending === 'full' || job.glanceCalls === null || !job.drawsOnQuota) return asScheduled;
  const thrifty = { everyMs: THRIFTY_MS, glanceEveryMs: targetMs };
  return callsPerDay(job, thrifty) < callsPerDay(job, asScheduled) ? thrifty : asScheduled;
}

function spacingBy(factor: number, job: PlannedJob, mayGlance: boolean): Spacing {
  const { changedCalls, weight, drawsOnQuota, runs } = job;
  if (!drawsOnQuota || runs === 0) return wishOf(job, 'full');
  const targetMs = targetOf(job);
  const root = Math.sqrt((factor * changedCalls * targetMs) / weight);
  const everyMs = Math.min(Math.max(targetMs, root), Math.max(targetMs, LONGEST_MS));
  return mayGlance ? withGlances(job, everyMs) : { everyMs, glanceEveryMs: null };
}

/** The calls of a walk every `everyMs`, divided between head and all. */
function withGlances(job: PlannedJob, everyMs: number): Spacing {
  const { changedCalls, glanceCalls } = job;
  if (glanceCalls === null) return { everyMs, glanceEveryMs: null };
  const share = changedCalls / everyMs;
  const daily = changedCalls / LONGEST_WITH_GLANCES_MS;
  const part = Math.max(Math.min(share * HEAD.part, share - daily), share * HEAD.least);
  const head = Math.min(glanceCalls / targetOf(job), part);
  const glanceEveryMs = glanceCalls / head;
  if (!(glanceEveryMs < everyMs * SOONER)) return { everyMs, glanceEveryMs: null };
  const longestMs = Math.max(everyMs, LONGEST_WITH_GLANCES_MS);
  return { everyMs: Math.min(changedCalls / (share - head), longestMs), glanceEveryMs };
}

export const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** So many halvings leave nothing of the widest range. */
const HALVINGS = 60;

/** The least factor for which it fits; where none does, that with which every dataset gets its walk a day. */
function leastFactor(fits: (factor: number) => boolean, jobs: readonly PlannedJob[]): number {
  const factorFor = (job: PlannedJob, everyMs: number) =>
    (everyMs ** 2 * job.weight) / (job.changedCalls * targetOf(job));
  let low = Math.min(...jobs.map((job) => factorFor(job, targetOf(job))));
  let high = Math.max(...jobs.map((job) => factorFor(job, Math.max(targetOf(job), LONGEST_MS))));
  for (let step = 0; step < HALVINGS; step += 1) {
    const middle = Math.sqrt(low * high);
    if (fits(middle)) high = middle;
    else low = middle;
  }
  return high;
}
