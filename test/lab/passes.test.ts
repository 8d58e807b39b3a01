/** A pass in a process of its own over an API of any size: what the figures of speed and cost are taken from. */

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { measureBareLoop, measurePass, withFolder, withLargeApi } from '../../lab/passes.ts';
import { read } from '../helpers/sync-bench.ts';

test('a pass brings every row, as the bare loop does, and a second one no change though all is published again, older and in another order', async () => {
  await withFolder((folder) =>
    withLargeApi(250, async (url) => {
      const first = await measurePass('ai-signals', url, folder);
      expect(first).toMatchObject({ rows: 250, changed: 250 });
      expect(first.rowsPerSecond).toBeGreaterThan(1);
      expect(first.peakMb).toBeGreaterThan(10);
      await fetch(`${url}/publish?aged`);
      expect(await measurePass('ai-signals', url, folder)).toMatchObject({ rows: 250, changed: 0 });
      const ages = read<{ least: number }>(
        join(folder, 'mirror.db'),
        'SELECT min(quality_age_seconds) AS least FROM ai_signals',
      );
      expect(ages[0]?.least).toBeGreaterThanOrEqual(60);
      const bare = await measureBareLoop('ai-signals', url, folder, 2);
      expect(bare).toMatchObject({ rows: 250 });
      expect(bare.writtenBytes).toBeGreaterThan(10_000);
    }),
  );
});

test('an API that allows two calls at once refuses a third', async () => {
  await withLargeApi({ rows: 250, latencyMs: 1_000, atOnce: 2 }, async (url) => {
    const ask = async () => (await fetch(`${url}/api/v1/news?offset=0&limit=100`)).status;
    expect((await Promise.all([ask(), ask(), ask()])).sort()).toEqual([200, 200, 429]);
  });
});
