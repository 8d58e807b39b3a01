/** What a day will cost, how old each dataset will be, and whether the calls will do: arithmetic alone. */

export const DAY_MS = 86_400_000;

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
  /** Time of one call. */
  callMs: number;
  /** False where its calls do not count against the quota. */
  drawsOnQuota: boolean;
};

/**
 * Calls that may be spent: so many until `nextInMs`, then `perPeriod` in each period; without the reserve and what
 * others take.
 */
export type Budget = { remaining: number; nextInMs: number; perPeriod: number; periodMs: number };

export type PlannedWalks = {
  name: string;
  /** Walks and calls expected in 24 hours. */
  walks: number;
  calls: number;
  /** Time from one walk to the next, at most; beyond the schedule's where calls are scarce. */
  everyMs: number;
  /** The age that the data can be held below: one interval and the walk itself. */
  heldToMs: number;
};

export type Plan = {
  jobs: PlannedWalks[];
  calls: number;
  /** The day's share of the calls, and what the plan leaves of it; null where the quota is unknown. */
  available: number | null;
  left: number | null;
  /** 1 where every schedule is kept; 2 where intervals (over their weights) are twice as long. */
  stretch: number;
  /** Probability in [0, 1] that the schedules, unstretched, find the quota empty at some time of the day. */
  chanceOfRunningDry: number | null;
};

/**
 * @param budget null where it is not known what may be spent
 * @param perSecond pace of calls, null where no limit was felt
 */
export function planDay(jobs: readonly PlannedJob[], budget: Budget | null, perSecond: number | null): Plan {
  const available = budget && shareOfDay(budget);
  const byPace = perSecond === null ? Number.POSITIVE_INFINITY : (perSecond * DAY_MS) / 1_000;
  const drawing = jobs.filter((job) => job.drawsOnQuota);
  const stretch = stretchToFit(drawing, Math.min(available ?? byPace, byPace));
  const walks = jobs.map((job) => walksOf(job, job.drawsOnQuota ? stretch : 1, perSecond));
  const spent = sum(walks.filter((_, at) => jobs[at]?.drawsOnQuota).map((job) => job.calls));
  return {
    jobs: walks,
    calls: sum(walks.map((job) => job.calls)),
    available,
    left: available === null ? null : Math.max(0, available - spent),
    stretch,
    chanceOfRunningDry: budget && chanceOfRunningDry(drawing, budget),
  };
}

/** The stretch at which what is left lasts until more come; 1 where that is not known. */
export function stretchUntilMore(
  jobs: readonly PlannedJob[],
  budget: Budget | null,
  perSecond: number | null,
): number {
  if (!budget || budget.nextInMs <= 0) return 1;
  const remaining = (budget.remaining * DAY_MS) / budget.nextInMs;
  return planDay(jobs, { ...budget, remaining, nextInMs: DAY_MS }, perSecond).stretch;
}

/** What can be spent in a day so that the rest of a longer period gets as much. */
function shareOfDay({ remaining, nextInMs, perPeriod, periodMs }: Budget): number {
  const share = nextInMs > DAY_MS ? DAY_MS / nextInMs : 1;
  return remaining * share + (perPeriod * Math.max(0, DAY_MS - nextInMs)) / periodMs;
}

function walksOf(job: PlannedJob, stretch: number, perSecond: number | null): PlannedWalks {
  const times = Math.max(1, stretch / job.weight);
  const callMs = Math.max(job.callMs, perSecond === null ? 0 : 1_000 / perSecond);
  const everyMs = job.longestMs * times;
  return {
    name: job.name,
    walks: job.runs / times,
    calls: callsOf(job, stretch),
    everyMs,
    heldToMs: everyMs + job.changedCalls * callMs,
  };
}

/** Calls of a day. Jobs are stretched until all are equally far behind, by age against target times weight. */
function callsOf(job: PlannedJob, stretch: number): number {
  const walks = job.runs / Math.max(1, stretch / job.weight);
  return walks === 0 ? 0 : walks * callsPerWalk(job, chanceOfChange(job, walks));
}

function callsPerWalk({ changedCalls, unchangedCalls }: PlannedJob, chance: number): number {
  return unchangedCalls + chance * (changedCalls - unchangedCalls);
}

/** Changes come at random, so that some fall into one interval. */
function chanceOfChange({ changesPerDay }: PlannedJob, walks: number): number {
  return 1 - Math.exp(-changesPerDay / walks);
}

/** The least stretch at which the day's calls fit what there is. */
function stretchToFit(jobs: readonly PlannedJob[], available: number): number {
  const calls = (stretch: number) => sum(jobs.map((job) => callsOf(job, stretch)));
  const least = Math.min(1, ...jobs.map((job) => job.weight));
  if (calls(least) <= available) return 1;
  let [low, high] = [least, least];
  while (calls(high) > available && high < 1e6) high *= 2;
  for (let step = 0; step < 60; step += 1) {
    const middle = (low + high) / 2;
    if (calls(middle) > available) low = middle;
    else high = middle;
  }
  return high;
}

/** The calls must last until more come, then through every period of the day. */
function chanceOfRunningDry(
  jobs: readonly PlannedJob[],
  { remaining, nextInMs, perPeriod, periodMs }: Budget,
): number {
  const first = Math.min(nextInMs, DAY_MS);
  const periods = Math.floor((DAY_MS - first) / periodMs);
  const rest = DAY_MS - first - periods * periodMs;
  const lasts = (calls: number, ms: number) => (ms > 0 ? chanceToLast(jobs, calls, ms) : 1);
  return 1 - lasts(remaining, first) * lasts(perPeriod, periodMs) ** periods * lasts(perPeriod, rest);
}

/** Each walk finds a change or not; over many walks the calls of a time are normally distributed. */
function chanceToLast(jobs: readonly PlannedJob[], calls: number, ms: number): number {
  let [mean, variance] = [0, 0];
  for (const job of jobs) {
    if (job.runs === 0) continue;
    const walks = (job.runs * ms) / DAY_MS;
    const chance = chanceOfChange(job, job.runs);
    const ofOne = callsPerWalk(job, chance);
    const begun = walks % 1;
    mean += walks * ofOne;
    variance += walks * chance * (1 - chance) * (job.changedCalls - job.unchangedCalls) ** 2;
    variance += begun * (1 - begun) * ofOne ** 2;
  }
  return normal((calls + 0.5 - mean) / Math.sqrt(Math.max(variance, 1e-9)));
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
