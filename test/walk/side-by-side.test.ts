/** Walks on paper with calls side by side, answered in any order while the dataset changes between any two answers. */

import { describe, expect, it } from 'vitest';
import { createDataset, kinds } from '../../lab/soak/missed-rows.ts';
import { seededRandom } from '../../model-api/index.ts';
import { walkOnPaper } from '../helpers/paper.ts';

/** As random tests have it. */
const seed = Number(process.env['SEED'] ?? 20_260_101);
const WALKS = 30;
const ROWS = 1_000;

describe.each([2, 8])('with %i calls side by side', (atOnce) => {
  const changes = kinds.filter(({ orderly }) => orderly);

  it.each(changes)('no proof misses a row while $name', async ({ name, rates, edit, dated }) => {
    const rate = Math.max(...rates);
    const random = seededRandom(seed);
    const dataset = createDataset(ROWS, random);
    const rows = () => {
      for (let edits = Math.floor(random() * (1 + 2 * rate)); edits > 0; edits -= 1) edit(dataset, random);
      return dataset.rows;
    };
    let proofs = 0;
    for (let walk = 0; walk < WALKS; walk += 1) {
      dataset.throughout();
      const { end, met } = await walkOnPaper(rows, {
        generatedAt: () => (dated ? dataset.generatedAt : undefined),
        sideBySide: { calls: atOnce, random },
      });
      const throughout = dataset.throughout();
      if (end.verdict === 'union') continue;
      proofs += 1;
      expect(throughout.filter((row) => !met.has(row))).toEqual([]);
    }
    // One by one all of them are proofs.
    if (/to the head|oldest expire/.test(name)) expect(proofs).toBe(WALKS);
  });

  it('a dataset that stands still takes as many calls as one by one', async () => {
    const rows = Array.from({ length: ROWS }, (_, at) => `row ${at}`);
    const { calls: oneByOne } = await walkOnPaper(() => rows);
    const random = seededRandom(seed);
    const { calls, wasted, end } = await walkOnPaper(() => rows, { sideBySide: { calls: atOnce, random } });
    expect(end.verdict).toBe('verified');
    expect({ calls, wasted }).toEqual({ calls: oneByOne, wasted: 0 });
  });
});
