/** One policy in one world: how long the calls take, and how many are refused. */

import type { Clock } from '../../src/clock.ts';
import { virtualClock } from './clock.ts';
import type { PolicyMaker } from './policies.ts';
import { seededRandom } from './random.ts';
import { createWorld, type World, type WorldSpec } from './world.ts';

export type Scenario = {
  name: string;
  spec: WorldSpec;
  /** Jobs that walk at the same time, each one call after another. */
  jobs: readonly string[];
  /** Accepted calls of the first sync, and of what follows it. */
  first: number;
  after: number;
};

export type Result = {
  /** Virtual milliseconds to the end of the first sync, and from there to the end. */
  firstMs: number;
  afterMs: number;
  firstRefusals: number;
  afterRefusals: number;
};

export async function run(scenario: Scenario, seed: number, policy: PolicyMaker): Promise<Result> {
  const clock = virtualClock();
  const world = createWorld(scenario.spec, clock, seededRandom(seed));
  const gate = policy(clock, seededRandom(seed + 1_000_003), scenario.spec);
  const result = await work(scenario, clock, world, async (job) => {
    await gate.acquire(job, never);
    const answer = await world.call(job);
    gate.complete(job, answer);
    return answer.status === 200;
  });
  gate.close();
  return result;
}

/** The time of one who knows every limit and the moment at which each will next accept. */
export async function runOptimum(scenario: Scenario, seed: number): Promise<Result> {
  const clock = virtualClock();
  const random = seededRandom(seed);
  const world = createWorld(scenario.spec, clock, random);
  let underWay = 0;
  const idle: (() => void)[] = [];
  return work(scenario, clock, world, async () => {
    while (underWay >= (scenario.spec.concurrency ?? Number.POSITIVE_INFINITY))
      await new Promise<void>((resolve) => idle.push(resolve));
    underWay += 1;
    for (let at = world.takeOrNext(); at > clock.now(); at = world.takeOrNext())
      await clock.sleep(at - clock.now());
    await clock.sleep(scenario.spec.latencyMs * 2 ** (2 * random() - 1));
    underWay -= 1;
    idle.shift()?.();
    return true;
  });
}

const never = new AbortController().signal;

async function work(
  { jobs, first, after }: Scenario,
  clock: Clock,
  world: World,
  call: (job: string) => Promise<boolean>,
): Promise<Result> {
  const begunAt = clock.now();
  let done = 0;
  let firstMs = 0;
  let firstRefusals = 0;
  await Promise.all(
    jobs.map(async (job) => {
      while (done < first + after) {
        if (!(await call(job))) continue;
        done += 1;
        if (done === first) [firstMs, firstRefusals] = [clock.now() - begunAt, world.refusals.all];
      }
    }),
  );
  return {
    firstMs,
    afterMs: clock.now() - begunAt - firstMs,
    firstRefusals,
    afterRefusals: world.refusals.all - firstRefusals,
  };
}
