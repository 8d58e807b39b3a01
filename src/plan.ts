/** How often each dataset is walked and glanced at, from its schedule, the calls that a walk takes, and the calls that may be made. */

import { DAY_MS, isoTime } from './base/clock.ts';
import { runsWithin } from './base/schedule.ts';
import { type Description, describeKept, type Pool } from './governor/describe.ts';
import type { Dataset } from './job/list.ts';
import { type Facts, type Head, type Observed, readFacts } from './plan/facts.ts';
import { type Connection, readMirror } from './store/read.ts';

export type { Head } from './plan/facts.ts';

/** A dataset that is to be read; times in milliseconds. */
export type PlannedJob = {
  /** Walks that its schedule asks for in a day, and the longest time from one to the next. */
  runs: number;
  longestMs: number;
  weight: number;
  /** Calls of a walk, in the mean of the last ones. */
  walkCalls: number;
  /** Calls of a glance at its head, where that is worth one; else null. */
  glanceCalls: number | null;
};

/** The time from one walk to the next, in the mean of a day, and from any look to the next glance. */
export type Interval = { walkMs: number; glanceMs: number | null };

/** So many of all calls go to glances, where heads are worth them. */
const GLANCES_PART = 1 / 4;
/** Glances come at least so much more often than walks, or not at all. */
const SOONER = 0.9;

/**
 * The schedules, where the calls are enough. Else intervals grow by the root of what a look costs, which is best where every dataset
 * changes about as often as its schedule says; a day is the longest, without glances if need be. Where even that is too much, the most
 * expensive datasets are walked less often.
 * @param calls of a day; infinite where that is not known.
 */
export function intervals(jobs: readonly PlannedJob[], calls: number): Interval[] {
  const kept = jobs.map((job): Interval => ({ walkMs: targetOf(job), glanceMs: null }));
  if (sumOf(jobs, kept) <= calls) return kept;
  return grown(jobs, calls, GLANCES_PART) ?? grown(jobs, calls, 0) ?? starved(jobs, calls);
}

/** Null where the calls are not enough for a walk a day. */
function grown(jobs: readonly PlannedJob[], calls: number, glancesPart: number): Interval[] | null {
  const glanced = glancesPart > 0 ? jobs.filter(({ glanceCalls }) => glanceCalls !== null) : [];
  const glanceMsOf = (job: PlannedJob, factor: number) => grownMs(job, job.glanceCalls ?? 1, factor);
  const forGlances = (factor: number) =>
    glanced.reduce((sum, job) => sum + ((job.glanceCalls ?? 1) * DAY_MS) / glanceMsOf(job, factor), 0);
  const glanceFactor = least((factor) => forGlances(factor) <= glancesPart * calls);
  const spaced = (factor: number) =>
    jobs.map((job): Interval => {
      const walkMs = grownMs(job, job.walkCalls, factor);
      const glanceMs = glanced.includes(job) ? glanceMsOf(job, glanceFactor) : Number.POSITIVE_INFINITY;
      return { walkMs, glanceMs: glanceMs < SOONER * walkMs ? glanceMs : null };
    });
  const isEnough = (factor: number) => sumOf(jobs, spaced(factor)) <= calls;
  return isEnough(Number.POSITIVE_INFINITY) ? spaced(least(isEnough)) : null;
}

/** From the schedule's interval to a day. */
function grownMs(job: PlannedJob, calls: number, factor: number): number {
  const target = targetOf(job);
  return Math.max(target, Math.min(factor * Math.sqrt((calls * target) / job.weight), DAY_MS));
}

/** No more calls a day than these for one dataset: so it is the expensive ones that are walked less often. */
function starved(jobs: readonly PlannedJob[], calls: number): Interval[] {
  const spaced = (each: number) =>
    jobs.map((job): Interval => {
      const walkMs = Math.max(targetOf(job), DAY_MS, (DAY_MS * job.walkCalls) / each);
      return { walkMs, glanceMs: null };
    });
  return spaced(1 / least((factor) => sumOf(jobs, spaced(1 / factor)) <= calls));
}

/** The least factor, to a thousandth, that is enough; `isEnough` is monotonic. */
function least(isEnough: (factor: number) => boolean): number {
  let [low, high] = [1e-6, 1e12];
  while (high / low > 1.001) {
    const middle = Math.sqrt(low * high);
    if (isEnough(middle)) high = middle;
    else low = middle;
  }
  return high;
}

const targetOf = ({ runs, longestMs }: PlannedJob) => (runs > 0 ? DAY_MS / runs : longestMs);

const walksPerDay = ({ runs }: PlannedJob, { walkMs }: Interval) => (runs > 0 ? DAY_MS / walkMs : 0);

function glancesPerDay({ walkMs, glanceMs }: Interval): number {
  return glanceMs === null ? 0 : Math.max(0, DAY_MS / glanceMs - DAY_MS / walkMs / 2);
}

const sumOf = (jobs: readonly PlannedJob[], spaced: readonly Interval[]) =>
  jobs.reduce((sum, job, at) => sum + callsOf(job, spaced[at] as Interval), 0);

function callsOf(job: PlannedJob, interval: Interval): number {
  return walksPerDay(job, interval) * job.walkCalls + glancesPerDay(interval) * (job.glanceCalls ?? 0);
}

/**
 * What is left until the pool resets, as calls a day; but no more than what is left and what comes within a day: shortly before a reset
 * what is left would else look like much. Null where that is not known.
 */
export function callsPerDay({ limit, remaining, asOf, reserve, resets }: Pool, now: number): number | null {
  const { everyMs, at } = resets;
  if (limit === null || remaining === null || everyMs === null) return null;
  // One call a period looks whether more came.
  const usual = (Math.max(1, limit - reserve) * DAY_MS) / everyMs;
  // What was said before the latest reset is over.
  const isOver = at !== null && asOf !== null && asOf < at - everyMs;
  const left = Math.max(0, (isOver ? limit : remaining) - reserve);
  // What slides comes back as it was spent. Where nothing is left, the governor says when to try.
  if (at === null || left < 1) return usual;
  const untilMs = Math.max(1, at - now);
  const aheadMs = Math.max(untilMs, DAY_MS);
  return Math.min((left * DAY_MS) / untilMs, (left * DAY_MS + usual * (aheadMs - untilMs)) / aheadMs);
}

/** The account's limits as far as they are known. */
export type Limits = {
  quota: Description['quota'];
  /** Null until the governor has begun. */
  rate: Description['rate'] | null;
  concurrency: Description['concurrency'] | null;
  waits: Description['waits'] | null;
  notes: Description['notes'];
};

export function readLimits(connection: Connection, now: number): Limits {
  const kept = connection.prepare<[], string>('SELECT state FROM _governor WHERE id = 1').pluck().get();
  const described = describeKept(kept === undefined ? undefined : JSON.parse(kept), now);
  return kept === undefined ? { ...described, rate: null, concurrency: null, waits: null } : described;
}

export type DayPlan = {
  /** When it was made, in epoch milliseconds, like the times of `quota` and `waits`. */
  at: number;
  file: string;
  datasets: DatasetPlan[];
  /** Calls expected in 24 hours, of the datasets whose `calls` are known. */
  calls: number;
  /** Calls that may be made in 24 hours at the rate until the quota resets; null where it is not known: see `unknown`. */
  available: number | null;
  left: number | null;
  /** `kept`; `scarce`: intervals become longer; `starved`: some datasets are not even walked once a day. */
  schedules: 'kept' | 'scarce' | 'starved' | 'unknown';
  quota: Limits['quota'];
  /** Rate of calls; null where no limit was felt. */
  perSecond: number | null;
  waits: NonNullable<Limits['waits']>;
  /** What could not be counted, and why; `job` is null where it is of the account. */
  unknown: { job: string | null; why: string }[];
};

export type DatasetPlan = {
  job: string;
  rows: number;
  weight: number;
  /** `forbidden`: the key may not read it. `unknown`: what a walk costs is not known yet. */
  state: 'planned' | 'off' | 'forbidden' | 'unknown';
  /** What the schedule asks for: the longest time between runs, and runs in 24 hours. */
  targetSeconds: number | null;
  runs: number;
  /** Calls of a walk that finds changes, and of one that finds none. */
  callsIfChanged: number | null;
  callsIfUnchanged: number | null;
  /** Calls of a glance; null where the head is not worth one. */
  callsIfGlanced: number | null;
  /** Where new rows stood. */
  head: Head;
  /** What its latest walks found; null where none could be compared. */
  observed: Observed | null;
  /** False where its calls do not count against the quota. */
  drawsOnQuota: boolean;
  /** Expected in 24 hours, and the calls of both; null where unknown. */
  walks: number | null;
  glances: number | null;
  calls: number | null;
  /** The longest time between walks, and the age that the data can be held to. */
  everySeconds: number | null;
  heldToSeconds: number | null;
  /** The time from a walk or glance to the next glance; null where there are none. */
  glanceEverySeconds: number | null;
};

/** @throws Failure `incomplete` where there is no mirror yet, `config` for one newer than this code, `disk`. */
export function readPlan(dir: string, datasets: readonly Dataset[], now: number): DayPlan {
  return readMirror(dir, (connection) => planOf(connection, datasets, now));
}

type KnownDataset = Dataset & {
  facts: Facts;
  runs: number;
  longestMs: number;
  drawsOnQuota: boolean;
  state: DatasetPlan['state'];
};

/** The same for an open mirror, of which the caller reads more at the same point in time. */
export function planOf(
  connection: Connection,
  datasets: readonly Dataset[],
  now: number,
  limits: Limits = readLimits(connection, now),
): DayPlan {
  const { quota } = limits;
  const waits = limits.waits ?? [];
  const perSecond = limits.rate?.perSecond ?? null;
  const known = datasets.map((dataset): KnownDataset => {
    const facts = readFacts(connection, dataset.name, dataset.rows);
    const drawsOnQuota = !quota.apart.includes(dataset.name);
    return {
      ...dataset,
      ...runsWithin(dataset.schedule, now, DAY_MS),
      facts,
      drawsOnQuota,
      state: stateOf(dataset, facts, waits),
    };
  });
  const pools = [quota, ...(quota.other ? [quota.other] : [])].flatMap(
    (pool) => callsPerDay(pool, now) ?? [],
  );
  const available = pools.length > 0 ? Math.min(...pools) : null;
  const byRate = perSecond === null ? Number.POSITIVE_INFINITY : (perSecond * DAY_MS) / 1_000;
  const counted = known.filter(
    ({ state, drawsOnQuota, runs }) => state === 'planned' && drawsOnQuota && runs > 0,
  );
  const spaced = intervals(counted.map(plannedJob), Math.min(available ?? Number.POSITIVE_INFINITY, byRate));
  const planned = known.map((dataset) =>
    describeDataset(dataset, spaced[counted.indexOf(dataset)], perSecond),
  );
  const calls = planned.reduce((sum, dataset) => sum + (dataset.calls ?? 0), 0);
  const spent = planned.reduce((sum, dataset) => sum + (dataset.drawsOnQuota ? (dataset.calls ?? 0) : 0), 0);
  const isGrown = planned.some(
    ({ everySeconds, targetSeconds }) => (everySeconds ?? 0) > 1.01 * (targetSeconds ?? 0),
  );
  const isStarved =
    isGrown && planned.some(({ walks, runs }) => walks !== null && walks < Math.min(0.99, runs));
  return {
    at: now,
    file: connection.name,
    datasets: planned,
    calls: tenth(calls),
    available: available && tenth(available),
    left: available && tenth(Math.max(0, available - spent)),
    schedules: isStarved ? 'starved' : isGrown ? 'scarce' : available === null ? 'unknown' : 'kept',
    quota,
    perSecond,
    waits,
    unknown: [
      ...(available === null ? [{ job: null, why: whyUnknown(quota) }] : []),
      ...planned
        .filter(({ state }) => state === 'unknown')
        .map(({ job }) => ({ job, why: 'no walk has ended yet: its calls are not counted' })),
      ...planned
        .filter(
          (one) => one.state === 'planned' && !one.observed && one.callsIfChanged !== one.callsIfUnchanged,
        )
        .map(({ job }) => ({
          job,
          why: 'change rate unknown: the plan assumes that every walk finds changes',
        })),
    ],
  };
}

const whyUnknown = ({ limit, resets }: Pool) =>
  limit === null ? 'the API has not reported any quota yet' : resets.says;

function stateOf({ name, schedule }: Dataset, facts: Facts, waits: DayPlan['waits']): DatasetPlan['state'] {
  if (schedule === 'off') return 'off';
  if (waits.some(({ job, reason }) => job === name && reason === 'forbidden')) return 'forbidden';
  return facts.calls ? 'planned' : 'unknown';
}

function plannedJob({ runs, longestMs, weight, facts }: KnownDataset): PlannedJob {
  const { calls, observed, head } = facts;
  const { changed, unchanged } = calls ?? { changed: 1, unchanged: 1 };
  const wholePart = observed && observed.walks > 0 ? observed.whole / observed.walks : 1;
  return {
    ...{ runs, longestMs, weight },
    walkCalls: Math.max(1, unchanged + wholePart * (changed - unchanged)),
    glanceCalls: head.useful ? facts.glanceCalls : null,
  };
}

/** The calls of a dataset that is not planned: a refused key is tried once a day. */
const callsUnplanned = { off: 0, forbidden: 1, unknown: null, planned: 0 };
const walksUnplanned = { ...callsUnplanned, forbidden: 0 };

/** @param interval undefined where its schedule is kept, since its calls do not count, or it is not planned. */
function describeDataset(
  known: KnownDataset,
  interval: Interval | undefined,
  perSecond: number | null,
): DatasetPlan {
  const { name, runs, longestMs, weight, drawsOnQuota, state, facts } = known;
  const isPlanned = state === 'planned' && runs > 0;
  const job = plannedJob(known);
  const spacing = interval ?? { walkMs: targetOf(job), glanceMs: null };
  const longerMs = (longestMs * spacing.walkMs) / targetOf(job);
  const everyMs = Math.max(spacing.walkMs, Math.min(longerMs, Math.max(longestMs, DAY_MS)));
  const changed = facts.calls?.changed ?? null;
  const ofWalk = perSecond === null ? 0 : ((changed ?? 0) * 1_000) / perSecond;
  return {
    job: name,
    rows: facts.rows,
    weight,
    state,
    targetSeconds: secondsOf(longestMs),
    runs: tenth(runs),
    callsIfChanged: changed,
    callsIfUnchanged: facts.calls?.unchanged ?? null,
    callsIfGlanced: facts.head.useful ? tenth(facts.glanceCalls) : null,
    head: facts.head,
    observed: facts.observed,
    drawsOnQuota,
    walks: isPlanned ? tenth(walksPerDay(job, spacing)) : walksUnplanned[state],
    glances: isPlanned ? tenth(glancesPerDay(spacing)) : walksUnplanned[state],
    calls: isPlanned ? tenth(callsOf(job, spacing)) : callsUnplanned[state],
    everySeconds: isPlanned ? secondsOf(everyMs) : null,
    heldToSeconds: isPlanned ? secondsOf(everyMs + ofWalk) : null,
    glanceEverySeconds: isPlanned ? secondsOf(spacing.glanceMs) : null,
  };
}

/** Null for ever, and where nothing is planned. */
const secondsOf = (ms: number | null) => (ms !== null && Number.isFinite(ms) ? tenth(ms / 1_000) : null);
const tenth = (value: number) => Math.round(value * 10) / 10;

/** What `plan --json` prints. Within one `version` members are added, never removed or changed in meaning. */
export type PlanJson = ReturnType<typeof planJson>;

/** For programs: times in ISO 8601 UTC, durations in seconds. */
export function planJson(plan: DayPlan) {
  const { at, quota, waits } = plan;
  return {
    version: 1 as const,
    ...plan,
    at: isoTime(at),
    quota: quotaJson(quota),
    waits: waits.map(waitJson),
  };
}

export type LimitsJson = ReturnType<typeof limitsJson>;

export function limitsJson({ quota, rate, concurrency, waits, notes }: Limits) {
  return { quota: quotaJson(quota), rate, concurrency, waits: waits?.map(waitJson) ?? null, notes };
}

function quotaJson({ apart, other, ...pool }: Limits['quota']) {
  return { ...poolJson(pool), apart, other: other && poolJson(other) };
}

function poolJson({ asOf, resets: { at, everyMs, ...resets }, ...pool }: Pool) {
  const time = (ms: number | null) => (ms === null ? null : isoTime(ms));
  return {
    ...pool,
    asOf: time(asOf),
    resets: { ...resets, at: time(at), everySeconds: everyMs && everyMs / 1_000 },
  };
}

function waitJson({ until, ...wait }: NonNullable<Limits['waits']>[number]) {
  return { ...wait, until: isoTime(until) };
}
