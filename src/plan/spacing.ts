/**
 * How far apart walks and glances must be for the calls to suffice (docs/calls.md), what they cost in a day, how old each dataset
 * gets, and how likely the calls are used up. Arithmetic alone; times in milliseconds.
 */

import { DAY_MS, HOUR_MS } from '../clock.ts';

/** What is known of a dataset that is to be read. */
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

/** Calls that may be spent: so many until `nextInMs`, then `perPeriod` in each period; without the reserve and other users' calls. */
export type Budget = { remaining: number; nextInMs: number; perPeriod: number; periodMs: number };

/** What there is to spend, and how it is meant to be spent. */
type Means = {
  /** Null where it is not known what may be spent. */
  budget: Budget | null;
  /** Rate of calls; null where no limit was felt. */
  perSecond: number | null;
  spending: Spending;
};

/** Time from one walk to the next, in the mean of a day, and from one look (either kind) to the next glance. */
export type Spacing = { everyMs: number; glanceEveryMs: number | null };

/** What a dataset gets of the calls. */
export type JobPlan = Pick<Spacing, 'glanceEveryMs'> & {
  /** Walks, glances and the calls of both that are expected in 24 hours. */
  walks: number;
  glances: number;
  calls: number;
  /** Time from one walk to the next, at most; beyond the schedule's where calls are scarce. */
  everyMs: number;
  /** The age that the data can be held below: one interval and the walk itself. */
  heldToMs: number;
  /** Whether a walk costs more than is left, and would be cut in two. */
  waitsForMore: boolean;
};

export type DayOfCalls = {
  jobs: JobPlan[];
  /** The day's share of the calls, and what the plan leaves of it; null where the quota is unknown. */
  available: number | null;
  left: number | null;
  /** How many times longer than its schedule an interval becomes, times the weight: the most of all; 1 where all are kept. */
  stretch: number;
  /** Probability in [0, 1] that the schedules as they are find the quota empty at some time of the day. */
  chanceOfRunningDry: number | null;
};

export function planDay(jobs: readonly PlannedJob[], means: Means): DayOfCalls {
  const { budget } = means;
  const available = budget && shareOfDay(budget);
  const planned = planJobs(jobs, available ?? Number.POSITIVE_INFINITY, means);
  const spent = sum(planned.jobs.filter((_, at) => jobs[at]?.drawsOnQuota).map(({ calls }) => calls));
  return {
    ...planned,
    available,
    left: available === null ? null : Math.max(0, available - spent),
    chanceOfRunningDry: budget && chanceOfRunningDry(jobs, means.spending, budget),
  };
}

/** What can be spent in a day; of a longer period, each day gets the same. */
function shareOfDay({ remaining, nextInMs, perPeriod, periodMs }: Budget): number {
  const share = nextInMs > DAY_MS ? DAY_MS / nextInMs : 1;
  return remaining * share + (perPeriod * Math.max(0, DAY_MS - nextInMs)) / periodMs;
}

/**
 * The same until more calls come: what is left lasts until then. Where nothing is left, datasets go on as in a whole period, and
 * the governor says when to try; `stretch` is 1 then.
 */
export function planUntilMore(
  jobs: readonly PlannedJob[],
  means: Means,
): Pick<DayOfCalls, 'jobs' | 'stretch'> {
  const { budget } = means;
  const isLeft = budget !== null && budget.nextInMs > 0 && budget.remaining >= 1;
  const calls = (isLeft ? budget.remaining : budget?.perPeriod) ?? 0;
  const ms = (isLeft ? budget.nextInMs : budget?.periodMs) ?? 0;
  const planned = planJobs(jobs, calls > 0 ? (calls * DAY_MS) / ms : Number.POSITIVE_INFINITY, means);
  return isLeft ? planned : { ...planned, stretch: 1 };
}

/** @param perDay calls that there are in 24 hours. */
function planJobs(
  jobs: readonly PlannedJob[],
  perDay: number,
  { budget, perSecond, spending }: Means,
): Pick<DayOfCalls, 'jobs' | 'stretch'> {
  const rate = perSecond ?? Number.POSITIVE_INFINITY;
  const byRate = (rate * DAY_MS) / 1_000;
  const most = Math.min(perDay, byRate);
  const usual = Math.min(usualPerDay(budget) ?? perDay, byRate);
  const { spacings, isScarce } = spaceOut(jobs, most, spending, usual);
  const spaced = jobs.map((job, at) => ({ job, spacing: spacings[at] as Spacing }));
  const counted = spaced.filter(({ job }) => job.drawsOnQuota);
  const wanted = sum(counted.map(({ job, spacing }) => callsPerDay(job, spacing)));
  // Even a walk a day of everything may be too much: then a part of these looks is made.
  const partOfLooks = wanted > most ? most / wanted : 1;
  const planned = spaced.map(({ job, spacing }): JobPlan => {
    const { longestMs, changedCalls, drawsOnQuota } = job;
    const part = drawsOnQuota ? partOfLooks : 1;
    const everyMs = Math.min(longestMs * timesLonger(job, spacing), Math.max(longestMs, DAY_MS));
    return {
      walks: part * walksPerDay(job, spacing),
      glances: part * glancesPerDay(job, spacing),
      calls: part * callsPerDay(job, spacing),
      everyMs,
      glanceEveryMs: spacing.glanceEveryMs,
      heldToMs: everyMs / part + changedCalls * Math.max(job.callMs, 1_000 / rate),
      waitsForMore: waitsForMore(job, budget),
    };
  });
  const longer = counted.map(({ job, spacing }) => timesLonger(job, spacing) * job.weight);
  return { jobs: planned, stretch: isScarce ? Math.max(1, ...longer) : 1 };
}

/** Undefined where it is not known, and for a period longer than a day: little may be left of it for days. */
function usualPerDay(budget: Budget | null): number | undefined {
  if (!budget || budget.perPeriod <= 0 || budget.periodMs > DAY_MS) return undefined;
  return (budget.perPeriod * DAY_MS) / budget.periodMs;
}

function timesLonger(job: PlannedJob, { everyMs }: Spacing): number {
  return job.runs > 0 ? everyMs / targetOf(job) : 1;
}

/**
 * Whether a walk costs more than is left and would be cut in two: meanwhile the dataset changes, and a snapshot is replaced. A
 * walk that costs more than a whole period has nothing to wait for.
 */
function waitsForMore({ changedCalls, drawsOnQuota }: PlannedJob, budget: Budget | null): boolean {
  if (!budget || !drawsOnQuota || budget.remaining < 1) return false;
  return changedCalls > budget.remaining && changedCalls <= budget.perPeriod;
}

/** However few calls there are, a dataset gets a walk a day; a little more often with glances between. */
const LONGEST_MS = DAY_MS;
const LONGEST_WITH_GLANCES_MS = 23 * HOUR_MS;
/** Where glances keep a schedule, a walk is due once an hour. */
const THRIFTY_MS = HOUR_MS;
/** With fewer calls than so many walks a day of everything, glances make it worse. */
const LEAST_WALKS_PER_DAY = 2;
/** The part of a dataset's calls that goes to its head: usually, and where the rest hardly makes a walk a day. */
const HEAD = { part: 1 / 4, least: 1 / 10 };
/** Glances come at least so much more often than walks, or not at all. */
const SOONER = 0.9;

/**
 * Where the schedules ask for too much, walks are spaced by the root of calls × target ÷ weight: best where every dataset changes
 * about as often as its schedule says. Jobs whose calls do not count keep their schedules.
 * @param perDay calls in 24 hours; infinite where that is not known.
 * @param usualPerDay calls of a usual day, about which `perDay` swings: they decide whether there are enough for glances.
 * @returns spacings in the order of the jobs; `isScarce` where the calls are too few for what the schedules ask.
 */
export function spaceOut(
  jobs: readonly PlannedJob[],
  perDay: number,
  spending: Spending,
  usualPerDay = perDay,
): { spacings: Spacing[]; isScarce: boolean } {
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

/** What is done with calls enough. */
function wishOf(job: PlannedJob, spending: Spending): Spacing {
  const targetMs = targetOf(job);
  const asScheduled = { everyMs: targetMs, glanceEveryMs: null };
  if (spending === 'full' || job.glanceCalls === null || !job.drawsOnQuota) return asScheduled;
  const thrifty = { everyMs: THRIFTY_MS, glanceEveryMs: targetMs };
  return callsPerDay(job, thrifty) < callsPerDay(job, asScheduled) ? thrifty : asScheduled;
}

/** Time from one run to the next that the schedule asks for, in the mean of a day. */
export function targetOf({ runs, longestMs }: PlannedJob): number {
  return runs > 0 ? DAY_MS / runs : longestMs;
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

/** Calls of a day with these times between. */
export function callsPerDay(job: PlannedJob, spacing: Spacing): number {
  const walks = walksPerDay(job, spacing);
  const ofWalks = walks === 0 ? 0 : walks * callsPerWalk(job, chanceOfChange(job, walks));
  return ofWalks + glancesPerDay(job, spacing) * (job.glanceCalls ?? 0);
}

function walksPerDay({ runs }: PlannedJob, { everyMs }: Spacing): number {
  return runs > 0 ? DAY_MS / everyMs : 0;
}

/** A walk looks at the head, too, on average half an interval after the last glance. */
export function glancesPerDay({ runs }: PlannedJob, { everyMs, glanceEveryMs }: Spacing): number {
  if (runs === 0 || glanceEveryMs === null) return 0;
  return Math.max(0, DAY_MS / glanceEveryMs - DAY_MS / everyMs / 2);
}

/** In the mean. @param chance that it finds the dataset changed. */
function callsPerWalk({ changedCalls, unchangedCalls }: PlannedJob, chance: number): number {
  return unchangedCalls + chance * (changedCalls - unchangedCalls);
}

/** Changes come at random, so that some fall into one interval. */
function chanceOfChange({ changesPerDay }: PlannedJob, walks: number): number {
  return 1 - Math.exp(-changesPerDay / walks);
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/**
 * In [0, 1]. The calls must last until more come, then through every period of the day. Periods shorter than the shortest schedule
 * count together, since a walk may take the calls of several.
 */
function chanceOfRunningDry(jobs: readonly PlannedJob[], spending: Spending, budget: Budget): number {
  const counted = jobs.filter((job) => job.drawsOnQuota);
  const { remaining, nextInMs, perPeriod, periodMs } = budget;
  // The shortest time from one look to the next that a schedule asks for.
  const shortestMs = Math.min(DAY_MS, ...counted.filter(({ runs }) => runs > 0).map((job) => job.longestMs));
  const inOne = Math.max(1, Math.floor(shortestMs / periodMs));
  const [calls, ms] = [inOne * perPeriod, inOne * periodMs];
  const first = Math.min(nextInMs + (inOne - 1) * periodMs, DAY_MS);
  const spans = Math.floor((DAY_MS - first) / ms);
  const rest = DAY_MS - first - spans * ms;
  const lasts = (calls: number, ms: number) => (ms > 0 ? chanceToLast(counted, spending, calls, ms) : 1);
  return (
    1 -
    lasts(remaining + (inOne - 1) * perPeriod, first) *
      lasts(calls, ms) ** spans *
      lasts(Math.ceil(rest / periodMs) * perPeriod, rest)
  );
}

/** Each walk finds a change or not; over many walks the calls of a time are normally distributed. */
function chanceToLast(jobs: readonly PlannedJob[], spending: Spending, calls: number, ms: number): number {
  let [mean, variance] = [0, 0];
  for (const job of jobs) {
    const spacing = wishOf(job, spending);
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
