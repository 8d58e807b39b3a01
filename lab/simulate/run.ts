/** The governor in one world: how long the calls take, and how many are refused. */

import type { Clock, Random } from '../../src/clock.ts';
import { initialState } from '../../src/governor/state.ts';
import { createGovernor, type Governor } from '../../src/governor.ts';
import { seededRandom, virtualClock } from './clock.ts';
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

/** Of each walk, which asks as one does whose total is twenty pages. */
const UPCOMING = 20;

export type RunOptions = {
  /** So many pages of each walk may be requested before their turn. */
  prefetch?: number;
  /** How many prefetches the new mirror may waste, if not the usual number. */
  allowance?: number;
  /** Whether all requests take the median time. */
  isEven?: boolean;
};

type Prefetched = { isSent: boolean; drop(): void; done: Promise<boolean> };

export async function run(scenario: Scenario, seed: number, options: RunOptions = {}): Promise<Result> {
  const { prefetch = 0, allowance, isEven = false } = options;
  const clock = virtualClock();
  const world = createWorld(scenario.spec, clock, isEven ? () => 0.5 : seededRandom(seed));
  const governor = simulatedGovernor(clock, seededRandom(seed + 1_000_003), allowance);
  const upcoming = prefetch > 0 ? UPCOMING : 0;
  const send = async (job: string, isPrefetch = false, signal = never, onSend = () => {}) => {
    const complete = await governor.acquire(job, signal, { upcoming, isPrefetch });
    onSend();
    const answer = await world.call(job);
    complete(answer);
    return answer.status === 200;
  };
  const sendAhead = (job: string): Prefetched => {
    const dropped = new AbortController();
    const sent = send(job, true, dropped.signal, () => {
      one.isSent = true;
    });
    const done = sent.catch(() => false).finally(() => governor.endPrefetch(true));
    const one = { isSent: false, drop: () => dropped.abort(), done };
    return one;
  };
  const prefetched = new Map(scenario.jobs.map((job) => [job, [] as Prefetched[]]));
  const result = await work(scenario, clock, world, async (job) => {
    const ahead = prefetched.get(job) ?? [];
    // As a walk does: a prefetch that was not sent when its turn comes is dropped.
    const ready = ahead.shift();
    if (!ready?.isSent) ready?.drop();
    const next = ready?.isSent ? ready.done : send(job);
    while (ahead.length < prefetch && governor.reservePrefetch()) ahead.push(sendAhead(job));
    return await next;
  });
  governor.close();
  return result;
}

function simulatedGovernor(clock: Clock, random: Random, allowance?: number): Governor {
  let state = initialState();
  if (allowance !== undefined) state.prefetch.allowance = allowance;
  return createGovernor({
    transact(change) {
      const changed = change(state);
      state = changed.state;
      return changed.result;
    },
    clock,
    random,
    owner: 'simulated',
    longestWaitMs: Number.POSITIVE_INFINITY,
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
