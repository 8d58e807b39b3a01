/** Machines of one account find how many calls may be under way at once, in virtual time: hardly dearer than one machine that does the work of all. */

import { describe, expect, test } from 'vitest';
import { virtualClock } from '../../lab/simulate/clock.ts';
import { createWorld } from '../../lab/simulate/world.ts';
import { seededRandom } from '../../model-api/index.ts';
import type { Clock } from '../../src/clock.ts';
import type { State } from '../../src/governor/state.ts';
import { createGovernor, type Transact } from '../../src/governor.ts';

const jobs = ['ai-signals', 'news', 'smart-wallets', 'meme-signals'];
const CALLS = 600;

/** A state that is a moment away, there and back. */
function stateApart(clock: Clock): Transact {
  let kept: State | undefined;
  return async (change) => {
    for (;;) {
      const seen = kept;
      await clock.sleep(0.5);
      const { state, result } = change(seen, clock.now());
      await clock.sleep(0.5);
      if (kept !== seen) continue;
      kept = state;
      return result;
    }
  };
}

/** So many machines, each with so many walks. @returns refused calls, and virtual milliseconds. */
async function live(concurrency: number, machines: number, walks: number, seed: number) {
  const clock = virtualClock();
  const begun = clock.now();
  const world = createWorld({ latencyMs: 80, concurrency }, clock, seededRandom(seed));
  const transact = stateApart(clock);
  let accepted = 0;
  const lives = Array.from({ length: machines }, (_, machine) => {
    const random = seededRandom(seed, machine);
    const parts = { transact, isRemote: true, clock, random, owner: `${machine}` };
    const governor = createGovernor({ ...parts, longestWaitMs: Number.POSITIVE_INFINITY });
    return jobs.slice(0, walks).map(async (job) => {
      const { signal } = new AbortController();
      while (accepted < CALLS) {
        const complete = await governor.acquire(job, signal);
        const answer = await world.call(job);
        complete(answer);
        if (answer.status === 200) accepted += 1;
      }
    });
  });
  await Promise.all(lives.flat());
  return { refusals: world.refusals.all, ms: clock.now() - begun };
}

/** The first that is one too many, one more after a hundred calls, and one after three hundred. */
const LEARNING = 3;

describe.each([1, 2, 3])('where %d at once are allowed', (limit) => {
  test('one machine is refused as often as it takes to learn that, several at most twice as often, and take hardly longer', async () => {
    for (const seed of [1, 2, 3]) {
      const one = await live(limit, 1, 4, seed);
      expect(one.refusals, `seed ${seed}`).toBeLessThanOrEqual(LEARNING);
      for (const [machines, walks] of [
        [2, 2],
        [4, 1],
        [2, 4],
      ] as const) {
        const all = await live(limit, machines, walks, seed);
        const named = `${machines} machines, seed ${seed}`;
        expect(all.refusals, named).toBeLessThanOrEqual(2 * one.refusals);
        expect(all.ms / one.ms, named).toBeLessThan(1.35);
      }
    }
  });
});
