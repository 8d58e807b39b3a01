/** Some of the simulator's worlds again, with the real client, the kept state and the model of the API. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { virtualClock } from '../../lab/simulate/clock.ts';
import { type ModelApi, type ModelOptions, retryAfterSeconds } from '../../model-api/index.ts';
import type { Clock } from '../../src/base/clock.ts';
import type { AccountLimits } from '../../src/config/values.ts';
import { describeKept } from '../../src/governor/describe.ts';
import { createGovernor, type Governor } from '../../src/governor.ts';
import { loadJobs } from '../../src/job/load.ts';
import { openStore } from '../../src/store.ts';
import { temporaryFolder } from '../helpers/folder.ts';
import { openModel } from '../model-api/support.ts';
import { MINUTE, unset } from './bench.ts';
import { openCaller } from './caller.ts';

const jobs = await loadJobs();

describe('over real HTTP', () => {
  it('a Retry-After is sat out in full, and what it taught spares the next refusal', async () => {
    const quota = { limit: 60, periodMs: 10 * MINUTE };
    const world = await setup({ quota, rateLimitHeaders: [], retryAfter: retryAfterSeconds });
    await world.process('one').walk('ai-signals', 400);
    expect(world.refusals()).toBeLessThanOrEqual(4);
    const { calls } = world.model;
    for (const [index, { status, at }] of calls.entries()) {
      const next = calls[index + 1];
      const begun = Math.ceil((at + 1) / quota.periodMs) * quota.periodMs;
      if (status === 429 && next) expect(next.at).toBeGreaterThanOrEqual(begun);
    }
  });

  it('two at once are found and used, and two processes on one folder do not exceed them together', async () => {
    const world = await setup({ concurrency: 2 }, 40);
    const [one, two] = [world.process('one'), world.process('two')];
    await Promise.all([one.walk('ai-signals', 50), one.walk('news', 50), one.walk('news', 50)]);
    expect(world.learnt().concurrency).toMatchObject({ allowed: 2, evidence: '3 at once were refused' });
    const learning = world.model.calls.length;
    expect(world.refusals()).toBeLessThanOrEqual(3);

    await Promise.all([one, two].flatMap(({ walk }) => [walk('ai-signals', 30), walk('news', 30)]));
    const together = world.model.calls.slice(learning);
    // One more may be tried once in a hundred calls.
    expect(together.filter(({ status }) => status === 429).length).toBeLessThanOrEqual(1);
    expect(together.filter(({ inFlight }) => inFlight === 2).length).toBeGreaterThan(30);
  });
});

/** @param answerMs how long the model takes for an answer. */
async function setup(options: ModelOptions, answerMs = 0, limits: AccountLimits = unset) {
  let underWay = 0;
  let answering = 0;
  const clock = virtualClock(undefined, () => underWay > answering);
  const beforeAnswer = async () => {
    answering += 1;
    await clock.sleep(answerMs);
    answering -= 1;
  };
  const model = await openModel({ rows: 3, now: clock.now, beforeAnswer, ...options });
  const dir = temporaryFolder();
  const begunAt = clock.now();
  /** Processes that were killed: nobody hears how their calls end. */
  const dead = new Set<string>();
  const processes = new Map<string, ReturnType<typeof openProcess>>();
  const process = (owner: string) => {
    const opened =
      processes.get(owner) ??
      openProcess(model, dir, owner, clock, { limits, dead }, (calls) => {
        underWay += calls;
      });
    processes.set(owner, opened);
    return opened;
  };
  return {
    ...{ model, process, clock, begunAt, dead },
    refusals: () => model.calls.filter(({ status }) => status === 429).length,
    learnt: () => process('one').learnt(),
  };
}

/** A store, a governor and a client, as each process has them. */
function openProcess(
  model: ModelApi,
  dir: string,
  owner: string,
  clock: Clock,
  { limits, dead }: { limits: AccountLimits; dead: ReadonlySet<string> },
  count: (calls: number) => void,
) {
  const store = openStore(dir, jobs, clock.now);
  const governor = createGovernor({
    transact: store.governor.transact,
    clock,
    random: () => 0.5,
    owner,
    longestWaitMs: Number.POSITIVE_INFINITY,
    limits,
    isGone: (other) => dead.has(other),
  });
  let isOpen = true;
  const end = () => {
    if (!isOpen) return;
    isOpen = false;
    governor.close();
    store.close();
  };
  onTestFinished(end);
  const acquire: Governor['acquire'] = async (job, signal) => {
    const complete = await governor.acquire(job, signal);
    return (outcome) => (dead.has(owner) ? undefined : complete(outcome));
  };
  return {
    ...openCaller(model, { ...governor, acquire }, clock, count),
    end,
    learnt: () => describeKept(store.governor.read(), clock.now()),
  };
}
