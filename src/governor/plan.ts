/** What a day will cost, how old each dataset will be, and whether the calls will do: arithmetic, no call. */

const DAY_MS = 86_400_000;

export type PlannedJob = {
  name: string;
  /** The age its data is meant to stay below, in milliseconds. */
  targetMs: number;
  weight: number;
  /** Calls of a walk that finds the dataset changed, and of one that finds it as it was. */
  changedCalls: number;
  unchangedCalls: number;
  /** How often the dataset was seen to change. */
  changesPerDay: number;
};

/** Calls that may be spent; `perPeriod` without the reserve and what others take. */
export type Budget = { remaining: number; perPeriod: number; periodMs: number };

export type PlannedWalks = {
  name: string;
  /** Walks and calls expected in 24 hours. */
  walks: number;
  calls: number;
  /** Time from one walk to the next; beyond `targetMs` where calls are scarce. */
  everyMs: number;
  /** The age that the data can be held below: one interval and the walk itself. */
  heldToMs: number;
};

export type Plan = {
  jobs: PlannedWalks[];
  calls: number;
  /** Calls that can be had in 24 hours, and what the plan leaves of them; null where the quota is unknown. */
  available: number | null;
  left: number | null;
  /** 1 where every target is met; 2 where targets (over their weights) are missed by twice. */
  stretch: number;
  /** Probability in [0, 1] that the targets, unstretched, find the quota empty at some time of the day. */
  chanceOfRunningDry: number | null;
};

/**
 * @param budget null where nothing is known of the quota
 * @param perSecond pace of calls, null where no limit was felt
 */
export function plan(jobs: readonly PlannedJob[], budget: Budget | null, perSecond: number | null): Plan {
  const available = budget && availableIn(budget, DAY_MS);
  const stretch = available === null ? 1 : stretchToFit(jobs, available);
  const walks = jobs.map((job) => walksOf(job, stretch, perSecond));
  const calls = sum(walks.map((job) => job.calls));
  return {
    jobs: walks,
    calls,
    available,
    left: available === null ? null : Math.max(0, available - calls),
    stretch,
    chanceOfRunningDry: budget && chanceOfRunningDry(jobs, budget),
  };
}

function availableIn({ remaining, perPeriod, periodMs }: Budget, ms: number): number {
  return remaining + (perPeriod * ms) / periodMs;
}

function walksOf(job: PlannedJob, stretch: number, perSecond: number | null): PlannedWalks {
  const everyMs = intervalOf(job, stretch);
  const walks = DAY_MS / everyMs;
  const walkMs = perSecond === null ? 0 : (job.changedCalls / perSecond) * 1_000;
  return {
    name: job.name,
    walks,
    calls: walks * callsPerWalk(job, everyMs),
    everyMs,
    heldToMs: everyMs + walkMs,
  };
}

/** Jobs are stretched until all are equally far behind, by age against target times weight. */
function intervalOf({ targetMs, weight }: PlannedJob, stretch: number): number {
  return targetMs * Math.max(1, stretch / weight);
}

function callsPerWalk(job: PlannedJob, everyMs: number): number {
  return job.unchangedCalls + chanceOfChange(job, everyMs) * (job.changedCalls - job.unchangedCalls);
}

function chanceOfChange({ changesPerDay }: PlannedJob, everyMs: number): number {
  return 1 - Math.exp((-changesPerDay * everyMs) / DAY_MS);
}

function dailyCalls(jobs: readonly PlannedJob[], stretch: number): number {
  return sum(
    jobs.map((job) => (DAY_MS / intervalOf(job, stretch)) * callsPerWalk(job, intervalOf(job, stretch))),
  );
}

/** The least stretch at which the day's calls fit what there is. */
function stretchToFit(jobs: readonly PlannedJob[], available: number): number {
  const least = Math.min(1, ...jobs.map((job) => job.weight));
  if (dailyCalls(jobs, least) <= available) return 1;
  let [low, high] = [least, least];
  while (dailyCalls(jobs, high) > available && high < 1e6) high *= 2;
  for (let step = 0; step < 60; step += 1) {
    const middle = (low + high) / 2;
    if (dailyCalls(jobs, middle) > available) low = middle;
    else high = middle;
  }
  return high;
}

/** Each walk finds a change or not; over many walks the calls of a period are normally distributed. */
function chanceOfRunningDry(jobs: readonly PlannedJob[], { remaining, perPeriod, periodMs }: Budget): number {
  const spanMs = Math.min(periodMs, DAY_MS);
  const mean = sum(jobs.map((job) => (spanMs / job.targetMs) * callsPerWalk(job, job.targetMs)));
  const variance = sum(jobs.map((job) => (spanMs / job.targetMs) * varianceOfWalk(job)));
  const dry = (calls: number) => 1 - normal((calls - mean) / Math.sqrt(Math.max(variance, 1e-9)));
  if (periodMs >= DAY_MS) return dry(remaining);
  return 1 - (1 - dry(perPeriod)) ** Math.floor(DAY_MS / periodMs);
}

function varianceOfWalk(job: PlannedJob): number {
  const chance = chanceOfChange(job, job.targetMs);
  return chance * (1 - chance) * (job.changedCalls - job.unchangedCalls) ** 2;
}

/** The standard normal distribution (Abramowitz and Stegun 26.2.17, error below 1e-7). */
function normal(x: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(x));
  const tail =
    (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) *
    t *
    (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return x >= 0 ? 1 - tail : tail;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
