/** Several machines on one account meet the limits of the API hardly more often than one does, and use them up as well. */

import { describe, expect, test } from 'vitest';
import { faults, type ModelOptions, when } from '../../model-api/index.ts';
import { initialState } from '../../src/governor/state.ts';
import { setupWorld, tenfold } from './machines.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const never = new AbortController().signal;

const jobs = ['ai-signals', 'news', 'smart-wallets', 'meme-signals'];

/** So many calls of four datasets, which are shared out among so many machines; all walk until the end. */
async function live(options: ModelOptions, machines: number, calls: number, clock = {}) {
  const world = await setupWorld(options, clock);
  const opened = await Promise.all(Array.from({ length: machines }, () => world.open()));
  // Only the first dataset is told what is left: where its machine comes last, nobody knows of a quota.
  for (const [at, machine] of opened.entries()) await machine.walk(jobs[at] ?? 'usage', 1);
  let left = calls - machines;
  const walks = jobs.map(async (job, at) => {
    for (; left > 0; left -= 1) await opened[at % machines]?.walk(job, 1);
  });
  await Promise.all(walks);
  return world;
}

describe('two machines', () => {
  test('use up a quota of 100 calls a minute, with hardly a refusal more than one', async () => {
    const quota = { limit: 100, periodMs: MINUTE };
    const [one, two] = await Promise.all([live({ quota }, 1, 500), live({ quota }, 2, 500)]);
    expect(two.refusals()).toBeLessThanOrEqual(Math.max(2, 2 * one.refusals()));
    const minutes: number[] = [];
    for (const { at } of two.model.calls) {
      const minute = Math.floor(at / MINUTE);
      minutes[minute] = (minutes[minute] ?? 0) + 1;
    }
    const whole = Object.values(minutes).slice(1, -1);
    expect(whole.length).toBeGreaterThan(2);
    for (const calls of whole) expect(calls).toBeGreaterThanOrEqual(95);
  });

  test('find a pace of 5 calls a second and keep to it', async () => {
    const rate = { perSecond: 5, burst: 10 };
    const [one, two] = await Promise.all([live({ rate }, 1, 500), live({ rate }, 2, 500)]);
    expect(two.refusals()).toBeLessThanOrEqual(2 * one.refusals());
    expect(two.elapsed()).toBeLessThan((490 / 5 / 0.95) * SECOND);
  });

  test('find that two calls at once are allowed, and use both', async () => {
    const options = { concurrency: 2, latencyMs: 8 };
    const [one, two] = await Promise.all([1, 2].map((machines) => live(options, machines, 160, tenfold())));
    if (!one || !two) throw new Error('not lived');
    expect(two.refusals()).toBeLessThanOrEqual(2 * Math.max(3, one.refusals()));
    const full = two.model.calls.slice(40).filter(({ inFlight }) => inFlight === 2);
    // The machine of this test has more to do.
    expect(full.length).toBeGreaterThan(0);
  });
});

test('a machine that dies holds what it was given for two minutes, by the clock of Redis', async () => {
  const { open, clock, model } = await setupWorld({});
  // Who waits asks again as often as calls are usually answered.
  const known = { ...initialState(), latencyMs: 1_000 };
  const [one, two] = [await open(known), await open(known)];
  await two.walk('news', 3);
  await one.governor.acquire('news', never);
  model.faults = [when({ nth: 1 }, faults.refuse(429))];
  const begin = clock.now();
  await two.walk('news', 30);
  expect(clock.now() - begin).toBeGreaterThan(115 * SECOND);
  expect(clock.now() - begin).toBeLessThan(125 * SECOND);
});

test('limits that were learnt are kept where Redis has lost them', async () => {
  const quota = { limit: 100, periodMs: MINUTE };
  const world = await setupWorld({ quota });
  const machines = [await world.open(), await world.open()];
  const all = (calls: number) => Promise.all(machines.map(({ walk }) => walk('ai-signals', calls)));
  await all(125);
  const learning = world.refusals();
  await world.server.client.flushall();
  await all(125);
  expect(world.refusals() - learning).toBeLessThanOrEqual(learning);
});
