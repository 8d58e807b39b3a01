/** The governor in one world: how long the calls take, and how many are refused. */

import type { Clock, Random } from '../../src/base/clock.ts';
import type { AccountLimits } from '../../src/config/values.ts';
import type { State } from '../../src/governor/state.ts';
import { createGovernor, type Governor } from '../../src/governor.ts';
import { seededRandom, virtualClock } from './clock.ts';
import { createWorld, type World, type WorldSpec } from './world.ts';

export type Scenario = {
  name: string;
  spec: WorldSpec;
  /** What the user has set. */
  limits?: AccountLimits;
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

export async function run(scenario: Scenario, seed: number): Promise<Result> {
  const clock = virtualClock();
  const world = createWorld(scenario.spec, clock, seededRandom(seed));
  const governor = simulatedGovernor(scenario, clock, seededRandom(seed + 1_000_003));
  const result = await work(scenario, clock, world, async (job) => {
    const complete = await governor.acquire(job, never);
    const answer = await world.call(job);
    complete(answer);
    return answer.status === 200;
  });
  governor.close();
  return result;
}

function simulatedGovernor({ limits }: Scenario, clock: Clock, random: Random): Governor {
  let kept: State | undefined;
  return createGovernor({
    transact(change) {
      const { state, result } = change(kept);
      kept = state ?? kept;
      return result;
    },
    clock,
    random,
    owner: 'simulated',
    longestWaitMs: Number.POSITIVE_INFINITY,
    ...(limits && { limits }),
  });
}

/** The time of a client that knows every limit and when each will next accept. */
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
        if (done === first) [firstMs, firstRefusals] = [clock.now() - begunAt, world.refused];
      }
    }),
  );
  return {
    firstMs,
    afterMs: clock.now() - begunAt - firstMs,
    firstRefusals,
    afterRefusals: world.refused - firstRefusals,
  };
}
