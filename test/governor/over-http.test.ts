/** Some of the simulator's worlds again, with the real client, the kept state and the model of the API. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { virtualClock } from '../../lab/simulate/clock.ts';
import { type ModelOptions, retryAfterSeconds, sampleKey } from '../../model-api/index.ts';
import { createApi } from '../../src/api.ts';
import { keyFromValue } from '../../src/base/key.ts';
import { describeKept } from '../../src/governor/describe.ts';
import { createGovernor } from '../../src/governor.ts';
import { findJob } from '../../src/job/list.ts';
import { loadJobs } from '../../src/job/load.ts';
import { openStore } from '../../src/store.ts';
import { temporaryFolder } from '../helpers/folder.ts';
import { openModel } from '../model-api/support.ts';
import { MINUTE, never } from './bench.ts';

const jobs = await loadJobs();

describe('over real HTTP', () => {
  it('a Retry-After is sat out in full, and what it taught spares the next refusal', async () => {
    const quota = { limit: 60, periodMs: 10 * MINUTE };
    const world = await setup({ quota, rateLimitHeaders: [], retryAfter: retryAfterSeconds });
    await world.process('one').walk('ai-signals', 150);
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
    await Promise.all([one.walk('ai-signals', 30), one.walk('news', 30), one.walk('news', 30)]);
    expect(one.learnt().concurrency).toMatchObject({ allowed: 2, evidence: '3 at once were refused' });
    const learning = world.model.calls.length;
    expect(world.refusals()).toBeLessThanOrEqual(3);

    await Promise.all([one, two].flatMap(({ walk }) => [walk('ai-signals', 20), walk('news', 20)]));
    const together = world.model.calls.slice(learning);
    // One more may be tried once in a hundred calls.
    expect(together.filter(({ status }) => status === 429).length).toBeLessThanOrEqual(1);
    expect(together.filter(({ inFlight }) => inFlight === 2).length).toBeGreaterThan(20);
  });
});

/** @param answerMs how long the model takes for an answer. */
async function setup(options: ModelOptions, answerMs = 0) {
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

  /** A store, a governor and a client, as each process has them. */
  function process(owner: string) {
    const store = openStore(dir, jobs, clock.now);
    const governor = createGovernor({
      ...{ transact: store.governor.transact, clock, random: () => 0.5, owner },
      longestWaitMs: Number.POSITIVE_INFINITY,
    });
    const api = createApi({
      baseUrl: model.url,
      key: keyFromValue(sampleKey.key),
      governor: {
        ...governor,
        async acquire(job, signal) {
          const complete = await governor.acquire(job, signal);
          underWay += 1;
          return (outcome) => {
            underWay -= 1;
            complete(outcome);
          };
        },
      },
      record: () => undefined,
      clock,
      random: () => 0.5,
      userAgent: 'market-mirror/test',
    });
    onTestFinished(async () => {
      await api.close();
      governor.close();
      store.close();
    });
    return {
      learnt: () => describeKept(store.governor.read(), clock.now()),
      /** Makes calls one after the other until so many are answered. */
      async walk(job: string, calls: number) {
        const request = { job, walkId: null, path: findJob(jobs, job).path, query: { offset: 0, limit: 1 } };
        for (let answered = 0; answered < calls; )
          // A call that was refused three times over is a matter for the next run.
          answered += await api.get(request, never).then(
            () => 1,
            () => 0,
          );
      },
    };
  }
  return { model, process, refusals: () => model.calls.filter(({ status }) => status === 429).length };
}
