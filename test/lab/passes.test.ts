/** A pass in a process of its own over an API of any size: what the figures of speed and cost are taken from. */

import { expect, test } from 'vitest';
import { measurePass, withFolder, withLargeApi } from '../../lab/passes.ts';

test.each(['ai-signals', 'news'])(
  'a pass over %s brings every row, and a second one no change though published again',
  async (job) => {
    await withFolder((folder) =>
      withLargeApi(250, async (url) => {
        const first = measurePass(job, url, folder);
        expect(first).toMatchObject({ rows: 250, changed: 250 });
        expect(first.rowsPerSecond).toBeGreaterThan(1);
        expect(first.peakMb).toBeGreaterThan(10);
        await fetch(`${url}/publish`);
        expect(measurePass(job, url, folder)).toMatchObject({ rows: 250, changed: 0 });
      }),
    );
  },
);

test('the ceiling brings the same rows', async () => {
  await withFolder((folder) =>
    withLargeApi(250, async (url) => {
      expect(measurePass('ceiling', url, folder)).toMatchObject({ rows: 250 });
    }),
  );
});
