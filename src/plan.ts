/** What the next 24 hours will cost, from what the mirror knows: no call, no Redis, no key, no change. */

import { DAY_MS, isoTime } from './clock.ts';
import type { Dataset } from './job-list.ts';
import { type Facts, type Grade, type Head, type Observed, readFacts } from './plan/facts.ts';
import { accountJson, budgetOf, type Limits, quotaJson, readLimits, waitJson } from './plan/limits.ts';
import {
  type DayOfCalls,
  type JobPlan,
  type PlannedJob,
  planDay,
  planUntilMore,
  type Spending,
} from './plan/spacing.ts';
import { runsWithin } from './schedule.ts';
import { type Connection, readMirror } from './store/read.ts';

export type { Spending } from './plan/spacing.ts';

export type DayPlan = {
  /** When it was made, in epoch milliseconds, like the times of `quota` and `waits`. */
  at: number;
  file: string;
  datasets: DatasetPlan[];
  /** Calls expected in 24 hours, of the datasets whose `calls` are known. */
  calls: number;
  /** Null where it is not known what may be spent: see `unknown`. */
  available: number | null;
  left: number | null;
  /** How many times longer than its schedule an interval becomes, times the weight: the most of all; 1 where all are kept. */
  stretch: number;
  /** The same until more calls come, for what is left until then. */
  stretchNow: number;
  chanceOfRunningDry: number | null;
  /** `kept`: each is, most likely; `tight`: in the mean of the day; `scarce`: intervals become longer, by `stretch`. */
  schedules: 'kept' | 'tight' | 'scarce' | 'unknown';
  quota: Limits['quota'];
  account: Limits['account'];
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
  /** Of the rows that were new at the last walk after glances, how many these had brought; null without glances. */
  graded: Grade | null;
  /** What its latest walks of the last week found; null where none could be compared. */
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
  /** The same until more calls come, for what is left until then: what the daemon holds itself to; null where unknown. */
  now: Intervals | null;
};

/** The read intervals that the plan holds a dataset to until more calls come. */
export type Intervals = {
  everySeconds: number | null;
  glanceEverySeconds: number | null;
  /** Whether a walk costs more than is left, and would be cut in two. */
  waitsForMore: boolean;
};

/** @throws Failure `incomplete` where there is no mirror yet, `config` for one newer than this code, `disk`. */
export function readPlan(
  dir: string,
  datasets: readonly Dataset[],
  spending: Spending,
  now: number,
): DayPlan {
  return readMirror(dir, (connection) => planOf(connection, datasets, spending, now));
}

type KnownDataset = Dataset &
  Pick<PlannedJob, 'runs' | 'longestMs' | 'drawsOnQuota'> & { facts: Facts; state: DatasetPlan['state'] };

/** The same for an open mirror, of which the caller reads more at the same point in time. */
export function planOf(
  connection: Connection,
  datasets: readonly Dataset[],
  spending: Spending,
  now: number,
  limits: Limits = readLimits(connection, now),
): DayPlan {
  const { quota, account } = limits;
  const waits = limits.waits ?? [];
  const known = datasets.map((dataset): KnownDataset => {
    const facts = readFacts(connection, dataset.name, dataset.rows, now);
    const drawsOnQuota = !quota.apart.includes(dataset.name);
    const state = stateOf(dataset, facts, waits);
    return { ...dataset, ...runsWithin(dataset.schedule, now, DAY_MS), facts, drawsOnQuota, state };
  });
  const jobs = known.flatMap((dataset) => plannedJob(dataset) ?? []);
  const budget = budgetOf(quota, now);
  const perSecond = limits.rate?.perSecond ?? null;
  const means = { budget: 'unknown' in budget ? null : budget, perSecond, spending };
  const [day, untilMore] = [planDay(jobs, means), planUntilMore(jobs, means)];
  const planned = known.map((dataset) => {
    const at = jobs.findIndex(({ name }) => name === dataset.name);
    return describeDataset(dataset, day.jobs[at], untilMore.jobs[at]);
  });
  return {
    at: now,
    file: connection.name,
    datasets: planned,
    calls: tenth(planned.reduce((sum, { calls }) => sum + (calls ?? 0), 0)),
    available: day.available && tenth(day.available),
    left: day.left && tenth(day.left),
    stretch: hundredth(day.stretch),
    stretchNow: hundredth(untilMore.stretch),
    chanceOfRunningDry: day.chanceOfRunningDry && Math.round(day.chanceOfRunningDry * 1_000) / 1_000,
    schedules: outlookOf(day),
    quota,
    account,
    perSecond,
    waits,
    unknown: [
      ...('unknown' in budget ? [{ job: null, why: budget.unknown }] : []),
      ...(account && account.processes > 1 ? [{ job: null, why: othersOf(account) }] : []),
      ...planned.flatMap(whatIsUnknown),
    ],
  };
}

/** A smaller chance is not worth a word. */
const LEAST_CHANCE = 0.01;

function outlookOf({ available, stretch, chanceOfRunningDry }: DayOfCalls): DayPlan['schedules'] {
  if (available === null) return 'unknown';
  if (stretch > 1) return 'scarce';
  return (chanceOfRunningDry ?? 0) < LEAST_CHANCE ? 'kept' : 'tight';
}

/** The governor counts their calls as ours; their schedules lie in their own folders. */
const othersOf = ({ name, processes }: NonNullable<Limits['account']>) =>
  `what ${processes - 1} more on the account ${name} will take is not counted`;

function stateOf({ name, schedule }: Dataset, facts: Facts, waits: DayPlan['waits']): DatasetPlan['state'] {
  if (schedule === 'off') return 'off';
  if (waits.some(({ job, reason }) => job === name && reason === 'forbidden')) return 'forbidden';
  return facts.calls ? 'planned' : 'unknown';
}

/** A dataset as the plan counts it; undefined where it is not run, or what a walk costs is not known. */
export function plannedJob(
  dataset: Pick<KnownDataset, 'name' | 'runs' | 'longestMs' | 'weight' | 'drawsOnQuota' | 'state'> & {
    facts: Omit<Facts, 'rows'>;
  },
): PlannedJob | undefined {
  const { name, runs, longestMs, weight, drawsOnQuota, state, facts } = dataset;
  if (state !== 'planned' || !facts.calls) return undefined;
  return {
    name,
    runs,
    longestMs,
    weight,
    changedCalls: facts.calls.changed,
    unchangedCalls: facts.calls.unchanged,
    changesPerDay: facts.observed?.perDay ?? Number.POSITIVE_INFINITY,
    glanceCalls: facts.head.useful ? facts.glanceCalls : null,
    callMs: facts.callMs ?? 0,
    drawsOnQuota,
  };
}

/** The calls of a dataset that is not planned: a refused key is tried once a day. */
const callsUnplanned = { off: 0, forbidden: 1, unknown: null, planned: null };
const walksUnplanned = { ...callsUnplanned, forbidden: 0 };

function describeDataset(
  { name, runs, longestMs, weight, drawsOnQuota, state, facts }: KnownDataset,
  day: JobPlan | undefined,
  untilMore: JobPlan | undefined,
): DatasetPlan {
  return {
    job: name,
    rows: facts.rows,
    weight,
    state,
    targetSeconds: secondsOf(longestMs),
    runs: tenth(runs),
    callsIfChanged: facts.calls?.changed ?? null,
    callsIfUnchanged: facts.calls?.unchanged ?? null,
    callsIfGlanced: facts.head.useful ? tenth(facts.glanceCalls) : null,
    head: { ...facts.head, new: tenth(facts.head.new), inHead: tenth(facts.head.inHead) },
    graded: facts.graded,
    observed: facts.observed && { ...facts.observed, perDay: tenth(facts.observed.perDay) },
    drawsOnQuota,
    walks: day ? tenth(day.walks) : walksUnplanned[state],
    glances: day ? tenth(day.glances) : walksUnplanned[state],
    calls: day ? tenth(day.calls) : callsUnplanned[state],
    everySeconds: secondsOf(day?.everyMs),
    heldToSeconds: secondsOf(day?.heldToMs),
    glanceEverySeconds: secondsOf(day?.glanceEveryMs),
    now: untilMore ? intervalsOf(untilMore) : null,
  };
}

const intervalsOf = ({ everyMs, glanceEveryMs, waitsForMore }: JobPlan): Intervals => ({
  everySeconds: secondsOf(everyMs),
  glanceEverySeconds: secondsOf(glanceEveryMs),
  waitsForMore,
});

function whatIsUnknown({ job, state, observed, callsIfChanged, callsIfUnchanged }: DatasetPlan) {
  if (state === 'unknown') return [{ job, why: 'no walk has ended yet: its calls are not counted' }];
  if (state === 'planned' && !observed && callsIfChanged !== callsIfUnchanged)
    return [{ job, why: 'how often it changes is not known yet: every walk is counted as if it did' }];
  return [];
}

/** Null for ever, and where nothing is planned. */
const secondsOf = (ms: number | null | undefined) =>
  typeof ms === 'number' && Number.isFinite(ms) ? tenth(ms / 1_000) : null;
const hundredth = (value: number) => Math.round(value * 100) / 100;
const tenth = (value: number) => Math.round(value * 10) / 10;

/** What `plan --json` prints. Within one `version` members are added, never removed or changed in meaning. */
export type PlanJson = ReturnType<typeof planJson>;

/** For programs: times in ISO 8601 UTC, durations in seconds. */
export function planJson(plan: DayPlan) {
  const { at, quota, waits, account } = plan;
  return {
    version: 1 as const,
    ...plan,
    at: isoTime(at),
    quota: quotaJson(quota),
    account: accountJson(account),
    waits: waits.map(waitJson),
  };
}
