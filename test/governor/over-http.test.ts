/** Some of the simulator's worlds again, with the real client, the kept state and the model of the API. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { seededRandom, virtualClock } from '../../lab/simulate/clock.ts';
import { type ModelApi, type ModelOptions, retryAfterSeconds } from '../../model-api/index.ts';
import type { Clock } from '../../src/base/clock.ts';
import type { AccountLimits } from '../../src/config/values.ts';
import { describeKept } from '../../src/governor/describe.ts';
import { createGovernor, type Governor } from '../../src/governor.ts';
import { loadJobs } from '../../src/job/load.ts';
import { openStore } from '../../src/store.ts';
import { temporaryFolder } from '../helpers/folder.ts';
import { openModel } from '../model-api/support.ts';
import { DAY, MINUTE, SECOND, unset } from './bench.ts';
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

describe('with all three limits set', () => {
  it('no call is refused in a month, with a sync beside the daemon, restarts and kills', async () => {
    const [calls, days] = [40, 30];
    const world = await setup({ quota: { limit: calls, periodMs: DAY }, rate: 5, concurrency: 2 }, 80, {
      quota: { calls, periodMs: DAY, startMs: 0 },
      rate: { calls: 5, periodMs: SECOND, startMs: null },
      concurrency: 2,
    });
    const { clock } = world;
    const random = seededRandom(1);
    const midnight = (day: number) => world.begunAt + day * DAY;
    const sleepUntil = (at: number) => clock.sleep(Math.max(0, at - clock.now()));

    /** As fast as it may; every second life is killed, and every third ends, in the midst of its calls. */
    async function daemon() {
      for (let life = 1; clock.now() < midnight(days); life += 1) {
        const { walk, end } = world.process(`daemon ${life}`);
        const stop = new AbortController();
        const walks = Promise.all(jobs.map(({ name }) => walk(name, Number.POSITIVE_INFINITY, stop.signal)));
        const day = Math.floor((clock.now() - world.begunAt) / DAY);
        await sleepUntil(
          life % 4 === 1 ? midnight(day + random()) : midnight(day + 1) + 15 * SECOND * random(),
        );
        if (life % 2 === 0) world.dead.add(`daemon ${life}`);
        stop.abort(new Error('the end'));
        await walks;
        end();
      }
    }

    async function syncs() {
      for (let day = 1; day < days; day += 1) {
        await sleepUntil(midnight(day) - 20 * SECOND * random());
        const { walk, end } = world.process(`sync ${day}`);
        await Promise.all([walk('ai-signals', 5), walk('news', 5)]);
        end();
      }
    }

    await Promise.all([daemon(), syncs()]);
    expect(world.model.calls.filter(({ status }) => status === 429)).toEqual([]);
    expect(world.dead.size).toBeGreaterThan(days / 3);
    expect(world.model.calls.length, 'and few are left unused').toBeGreaterThan(0.95 * days * calls);
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
