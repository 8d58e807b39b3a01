import { describe, expect, it } from 'vitest';
import { setup } from './helpers/setup.ts';

describe('one pass over one dataset', () => {
  it('leaves the mirror as the dataset stands upstream', async () => {
    const bench = await setup({ rows: 250 });
    for (const job of ['ai-signals', 'news', 'smart-wallets', 'meme-signals'] as const) {
      await bench.mirror(job);
      const { rows, idField } = bench.upstream(job);
      const mirrored = bench.table(job.replace('-', '_'));
      expect(new Set(mirrored.keys())).toEqual(new Set(rows.map((row) => String(row[idField]))));
    }
  });
});
