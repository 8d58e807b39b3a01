/** A market-mirror whose upstream is the service of another one, quota and all, while upstream is edited. */

import { expect, test } from 'vitest';
import { liveChain } from '../helpers/chain-life.ts';

test.each([1])(
  'holds what the one above holds, proven, and removed nothing that is there: seed %i',
  async (seed) => {
    const { edits } = await liveChain({ depth: 2, rows: 230, rounds: 4, quota: '60/10m', seed });
    expect(edits).toBeGreaterThan(20);
  },
);
