/** One policy in one world, under one quota: what became of the copy. Time is virtual, and a call takes a quarter of a second. */

import { createDataset } from './dataset.ts';
import { createMeasures } from './measures.ts';
import { createMirror, type Look, type Mirrored } from './mirror.ts';
import { CALL_MS, createPool } from './quota.ts';
import type { Rule } from './rules.ts';
import { follow } from './turns.ts';
import { chances, type Quota, type World } from './worlds.ts';

/** Between the first ticks of datasets that are due together. */
const STAGGER_MS = 200;

/** What is measured of each dataset of the world. */
export type Outcome = {
  world: World;
  quota: Quota;
  /** The most that were made in one period of the quota. */
  mostCalls: number;
  sets: readonly (Pick<Mirrored, 'spec' | 'measures'> & Partial<Mirrored>)[];
};

type Job = Mirrored & {
  firstTick: number;
  /** When it acts next. */
  at: number;
  look: Look | undefined;
};

export async function run(world: World, quota: Quota, rule: Rule, seed: number): Promise<Outcome> {
  const pool = createPool(quota);
  const random = chances(seed, world.specs.length);
  const jobs = world.specs.map((spec, index): Job => {
    const measures = createMeasures(world.from, world.to);
    const dataset = createDataset(spec, random[index] as () => number, world.begin, measures);
    const at = world.begin + index * STAGGER_MS;
    return { spec, measures, mirror: createMirror(dataset, measures), firstTick: at, at, look: undefined };
  });
  const calls = new Map<number, number>();
  const turnOf = follow(rule, jobs, pool);

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
