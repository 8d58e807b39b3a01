import { describe, expect, it } from 'vitest';
import { run, runOptimum } from '../../lab/simulate/run.ts';
import { scenarios } from '../../lab/simulate/scenarios.ts';

/** What a first sync may cost, and what may be refused of the next 1,000 calls; seeds are few here, `npm run simulate` runs more. */
const bounds = { ratio: 1.35, learning: 8, steady: 3, after: 1_000 };

describe.each([
  ['no limit felt, 150 ms', { learning: 0, steady: 0 }],
  ['5/s burst 10, 3 at once', {}],
  ['2 at once, 300 ms', {}],
  ['1,000/h window, no header', { ratio: 1.6, learning: 16, steady: 6, after: 4_000 }],
  ['all set: 1,000/h window', { ratio: 1.45, learning: 0, steady: 0 }],
] as const)('in the world "%s"', (name, exceptions) => {
  const { ratio, learning, steady, after } = { ...bounds, ...exceptions };

  it(`the calls take at most ${ratio} times what they must, with few refusals`, async () => {
    const found = scenarios.find((scenario) => scenario.name === name);
    if (!found) throw new Error(`there is no world "${name}"`);
    const scenario = { ...found, after };
    const [ours, optimum] = await Promise.all([run(scenario, 11), runOptimum(scenario, 11)]);
    expect(ours.firstMs / optimum.firstMs).toBeLessThan(ratio);
    expect(ours.firstRefusals).toBeLessThanOrEqual(learning);
    expect(ours.afterMs / optimum.afterMs).toBeLessThan(ratio);
    expect(ours.afterRefusals).toBeLessThanOrEqual(steady);
  });
});
