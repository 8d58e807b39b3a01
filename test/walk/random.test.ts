import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkConvergence, checkLife, checkTended, checkTendedConvergence } from '../helpers/invariants.ts';
import { type Life, live, openLives, type Scenario, scenarios } from '../helpers/scenario.ts';
import { few } from '../helpers/seeds.ts';

let lives: Awaited<ReturnType<typeof openLives>>;
beforeAll(async () => {
  lives = await openLives();
});
afterAll(() => lives.close());

describe('whatever happens to a dataset', () => {
  it.each([
    ['that keeps its order, no proof misses a row and no removal is false', 'orderly', 4],
    ['that shows new rows first, no glance leaves a gap', 'feed', 3],
    ['that changes its order, nothing is invented and all comes right', 'any', 3],
  ] as const)('%s', async (_, wildness, numRuns) => {
    const property = fc.asyncProperty(scenarios(wildness, 30), async (scenario) => {
      const bench = lives.benchFor(scenario);
      checkLife(await live(bench, scenario), scenario, wildness);
      await checkConvergence(bench, scenario.job);
    });
    await fc.assert(property, { numRuns: few(numRuns) });
  });
});

it('whatever people do to the mirror, no row upstream is lost', async () => {
  const property = fc.asyncProperty(scenarios('tended', 30), async (scenario) => {
    const bench = lives.benchFor(scenario);
    checkTended(bench, await live(bench, scenario), scenario);
    await checkTendedConvergence(bench, scenario);
  });
  await fc.assert(property, { numRuns: few(5) });
});

describe('however often it is interrupted', () => {
  const outcomes = ({ passages }: Life) =>
    passages.slice(0, 2).map(({ walk, after }) => {
      const { verdict, rows, distinctKeys, anomalies, pages, inserted } = walk;
      return { verdict, rows, distinctKeys, anomalies, pages, inserted, mirrored: after.size };
    });
  const uninterrupted = (scenario: Scenario): Scenario => ({ ...scenario, events: [[], [], []] });

  it('a walk ends as if it had not been', async () => {
    const property = fc.asyncProperty(scenarios('interrupted', 20), async (scenario) => {
      const interrupted = outcomes(await live(lives.benchFor(scenario), scenario));
      const smooth = outcomes(await live(lives.benchFor(scenario), uninterrupted(scenario)));
      const both = Math.min(interrupted.length, smooth.length);
      expect(interrupted.slice(0, both)).toEqual(smooth.slice(0, both));
    });
    await fc.assert(property, { numRuns: few(2) });
  });
});
