/** What a rule loses, removes falsely and costs while a dataset changes in one way. */

import { type Random, seededRandom } from '../../model-api/index.ts';
import { PAGE_ROWS } from '../../src/walk/bounds.ts';
import { createDataset } from './dataset.ts';
import type { Kind } from './kinds.ts';
import type { Rule } from './rules.ts';

export type Figures = {
  /** A row-pass is one row, there throughout one pass. */
  rowPasses: number;
  passes: number;
  /** Rows there throughout a pass that did not come, in any pass and in those that claim a proof. */
  missed: number;
  missedInProofs: number;
  /** Rows absent from two proofs in a row though they were there throughout both. */
  falselyRemoved: number;
  proofs: number;
  calls: number;
  leastCalls: number;
};

const ROWS = 1_000;

export async function measure(
  kind: Kind,
  rate: number,
  rule: Rule,
  rowPasses: number,
  seed: number,
): Promise<Figures> {
  const random = seededRandom(seed);
  const dataset = createDataset(ROWS, random);
  const total: Figures = {
    rowPasses: 0,
    passes: 0,
    missed: 0,
    missedInProofs: 0,
    falselyRemoved: 0,
    proofs: 0,
    calls: 0,
    leastCalls: 0,
  };
  const upstream = {
    rows() {
      for (let left = changes(rate, random); left > 0; left -= 1) kind.edit(dataset, random);
      return dataset.rows;
    },
    generatedAt: () => (kind.dated ? dataset.generatedAt : undefined),
  };
  let absentBefore = new Set<string>();

  while (total.rowPasses < rowPasses) {
    dataset.throughout();
    const { calls, received, met, isProof } = await rule(upstream);
    const throughout = dataset.throughout();
    const missed = throughout.filter((row) => !received.has(row)).length;
    total.rowPasses += throughout.length;
    total.passes += 1;
    total.missed += missed;
    total.calls += calls;
    total.leastCalls += Math.max(1, Math.ceil(dataset.rows.length / PAGE_ROWS));
    if (!isProof) continue;
    total.proofs += 1;
    const absent = throughout.filter((row) => !met.has(row));
    total.missedInProofs += absent.length;
    total.falselyRemoved += absent.filter((row) => absentBefore.has(row)).length;
    absentBefore = new Set(absent);
  }
  return total;
}

/** How many changes fall between two calls: Poisson with this mean. */
function changes(mean: number, random: Random): number {
  const limit = Math.exp(-mean);
  let count = 0;
  for (let product = random(); product > limit; product *= random()) count += 1;
  return count;
}
