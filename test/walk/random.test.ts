import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkConvergence, checkLife } from '../helpers/invariants.ts';
import { type Bench, openBench } from '../helpers/mirror-bench.ts';
import { type Life, live, type Scenario, scenarios } from '../helpers/scenario.ts';

/**
 * The same cases in every run; `npm run soak` tries others. A case that fails prints its seed and path: give
 * them back as SEED and SEED_PATH to run that one alone.
 */
const { SEED = '20260101', SEED_PATH } = process.env;
const replay = { seed: Number(SEED), ...(SEED_PATH ? { path: SEED_PATH, endOnFailure: true } : {}) };

async function withBench<T>(work: (bench: Bench) => Promise<T>): Promise<T> {
  const bench = await openBench({ rows: 0 });
  try {
    return await work(bench);
  } finally {
    await bench.close();
  }
}

describe('whatever happens to a dataset', () => {
  it.each([
    ['that keeps its order, no proof misses a row and no removal is false', 'orderly', 160],
    ['that changes its order, nothing is invented and all comes right', 'any', 60],
  ] as const)('%s', { timeout: 120_000 }, async (_, wildness, numRuns) => {
    const property = fc.asyncProperty(scenarios(wildness, 30), (scenario) =>
      withBench(async (bench) => {
        checkLife(await live(bench, scenario), scenario, wildness === 'orderly');
        await checkConvergence(bench, scenario.job);
      }),
    );
    await fc.assert(property, { numRuns, ...replay });
  });
});

describe('however often it is interrupted', () => {
  const outcomes = ({ passages }: Life) =>
    passages.slice(0, 2).map(({ walk, after }) => {
      const { verdict, rows, distinctKeys, anomalies, apiCalls, inserted, probeOf } = walk;
      return { verdict, rows, distinctKeys, anomalies, apiCalls, inserted, probeOf, after };
    });
  const uninterrupted = (scenario: Scenario): Scenario => ({ ...scenario, events: [[], [], []] });

  it('a walk ends as if it had not been', { timeout: 120_000 }, async () => {
    const property = fc.asyncProperty(scenarios('interrupted', 20), async (scenario) => {
      const lives = [scenario, uninterrupted(scenario)].map((one) => withBench((bench) => live(bench, one)));
      const [interrupted = [], smooth = []] = (await Promise.all(lives)).map(outcomes);
      const both = Math.min(interrupted.length, smooth.length);
      expect(interrupted.slice(0, both)).toEqual(smooth.slice(0, both));
    });
    await fc.assert(property, { numRuns: 60, ...replay });
  });
});
