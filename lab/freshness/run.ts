/** The real planner in one world, under one quota: what became of the copy. Time is virtual, and a call takes a quarter of a second. */

import { DAY_MS, HOUR_MS } from '../../src/clock.ts';
import { learn, MAX_GLANCES } from '../../src/plan/facts.ts';
import { type JobPlan, type PlannedJob, planUntilMore } from '../../src/plan/spacing.ts';
import { nextTurn, plannedForMs, type Turn } from '../../src/plan/turn.ts';
import { plannedJob } from '../../src/plan.ts';
import { mean, sum } from '../figures.ts';
import { createDataset, createMeasures, type Spec } from './dataset.ts';
import { createMirror, type Look, type LookRecord, type Mirror, type Mirrored } from './mirror.ts';
import { CALL_MS, chances, createPool, type Pool, type Quota, type World } from './worlds.ts';

/** Between the first ticks of datasets that are due together. */
const STAGGER_MS = 200;

/** What is measured of each dataset of the world. */
export type Outcome = {
  world: World;
  quota: Quota;
  /** The most that were made in one period of the quota. */
  mostCalls: number;
  sets: readonly Mirrored[];
};

type Job = Mirrored & {
  firstTick: number;
  /** When it acts next. */
  at: number;
  look: Look | undefined;
};

export async function run(world: World, quota: Quota, seed: number): Promise<Outcome> {
  const pool = createPool(quota);
  const random = chances(seed, world.specs.length);
  const jobs = world.specs.map((spec, index): Job => {
    const measures = createMeasures(world.from, world.to);
    const dataset = createDataset(spec, random[index] as () => number, world.begin, measures);
    const at = world.begin + index * STAGGER_MS;
    return { spec, measures, mirror: createMirror(dataset, measures), firstTick: at, at, look: undefined };
  });
  const calls = new Map<number, number>();
  const turnOf = follow(jobs, pool);

  for (let job = soonest(jobs); job.at < world.to; job = soonest(jobs)) {
    const now = job.at;
    if (!job.look) {
      const { at, askAt, kind } = turnOf(job, now);
      if (at > now) {
        job.at = askAt;
        continue;
      }
      job.look = job.mirror.begin(kind, now);
    }
    if (!pool.take(now)) {
      job.at = pool.nextReset(now);
      continue;
    }
    const period = Math.floor(now / quota.periodMs);
    calls.set(period, (calls.get(period) ?? 0) + 1);
    const isOver = await job.look.call(now);
    job.at = isOver ? nextTick(job, now) : now + CALL_MS;
    if (isOver) job.look = undefined;
  }
  for (const { mirror } of jobs) mirror.close(world.to);
  return { world, quota, mostCalls: Math.max(...calls.values()), sets: jobs };
}

function soonest(jobs: readonly Job[]): Job {
  return jobs.reduce((first, other) => (other.at < first.at ? other : first));
}

/** Ticks that come while a run is queued or under way come to nothing. */
function nextTick({ firstTick, spec }: Job, now: number): number {
  return firstTick + Math.ceil((now + CALL_MS - firstTick) / spec.targetMs) * spec.targetMs;
}

/** What the dataset runs next. */
type TurnOf = (job: Mirrored, now: number) => Turn;

type Plan = {
  until: number;
  /** When more calls come. */
  moreAt: number;
  paces: Map<string, JobPlan>;
  /** The last walks that it knows of. */
  walkedAt: Map<Mirrored, number | null>;
};

function follow(jobs: readonly Mirrored[], pool: Pool): TurnOf {
  const knowledge = jobs.map(({ spec, mirror }) => createKnowledge(spec, mirror));
  let plan: Plan | undefined;

  /** Made anew with each walk, too, since it may learn from it. */
  function planAt(now: number, job: Mirrored) {
    if (plan && now < plan.until && plan.walkedAt.get(job) === job.mirror.last().walkedAt) return plan;
    const budget = pool.budget(now);
    const known = knowledge.flatMap((of) => of(now) ?? []);
    const planned = planUntilMore(known, { budget, perSecond: null, spending: 'full' }).jobs;
    plan = {
      until: now + plannedForMs(budget.nextInMs),
      moreAt: now + budget.nextInMs,
      paces: new Map(known.map(({ name }, at) => [name, planned[at] as JobPlan])),
      walkedAt: new Map(jobs.map((job) => [job, job.mirror.last().walkedAt])),
    };
    return plan;
  }

  return (job, now) => {
    const { spec, mirror } = job;
    const { moreAt, paces } = planAt(now, job);
    const planned = paces.get(spec.name);
    const intervals = planned && {
      everySeconds: planned.everyMs / 1_000,
      glanceEverySeconds: planned.glanceEveryMs && planned.glanceEveryMs / 1_000,
      waitsForMore: planned.waitsForMore,
    };
    const targetSeconds = spec.targetMs / 1_000;
    const schedule = { every: spec.targetMs };
    const facts = { schedule, targetSeconds, intervals: intervals ?? null, moreAt, ...mirror.last() };
    return nextTurn(facts, now);
  };
}

/** Undefined until a walk has ended. Made anew with each look that ends, and now and then. */
function createKnowledge(spec: Spec, { records }: Mirror): (now: number) => PlannedJob | undefined {
  let kept: { of: LookRecord | undefined; at: number; job: PlannedJob | undefined } | undefined;
  return (now) => {
    const [latest] = records;
    if (!kept || kept.of !== latest || now - kept.at > HOUR_MS)
      kept = { of: latest, at: now, job: knownJob(spec, records, now) };
    return kept.job;
  };
}

function knownJob(spec: Spec, records: readonly LookRecord[], now: number): PlannedJob | undefined {
  const walks = records.filter(({ kind }) => kind === 'walk');
  const glances = records.filter(({ kind }) => kind === 'glance');
  const lastWalk = walks.find(({ isWhole }) => isWhole)?.id ?? 0;
  const learnt = learn(
    walks,
    {
      calls: glances.length > 0 ? mean(glances.slice(0, MAX_GLANCES).map(({ calls }) => calls)) : null,
      brought: sum(glances.map(({ id, inserted }) => (id > lastWalk ? inserted : 0))),
      lastBefore: glances.find(({ id }) => id < lastWalk)?.id ?? 0,
    },
    now,
  );
  const { name, weight, targetMs } = spec;
  const asked = { name, weight, runs: DAY_MS / targetMs, longestMs: targetMs };
  const facts = { ...learnt, callMs: CALL_MS };
  return plannedJob({ ...asked, drawsOnQuota: true, state: 'planned', facts });
}
