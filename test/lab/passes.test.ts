/** A pass in a process of its own over an API of any size: what the figures of speed and cost are taken from. */

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { measureBareLoop, measurePass, withFolder, withLargeApi } from '../../lab/passes.ts';
import { Database } from '../../src/store/sqlite.ts';

test.each([
  ['ai-signals', 'in another order and with other ages', 'publish?aged'],
  ['news', 'as they were', 'publish'],
])(
  'a pass over %s brings every row, as the bare loop does, and a second one no change though they are published again, %s',
  async (job, _, published) => {
    await withFolder((folder) =>
      withLargeApi(250, async (url) => {
        const first = await measurePass(job, url, folder);
        expect(first).toMatchObject({ rows: 250, changed: 250 });
        expect(first.rowsPerSecond).toBeGreaterThan(1);
        expect(first.peakMb).toBeGreaterThan(10);
        await fetch(`${url}/${published}`);
        expect(await measurePass(job, url, folder)).toMatchObject({ rows: 250, changed: 0 });
        if (job === 'ai-signals') expect(leastAgeIn(folder)).toBeGreaterThanOrEqual(60);
        const bare = await measureBareLoop(job, url, folder, 2);
        expect(bare).toMatchObject({ rows: 250 });
        expect(bare.writtenBytes).toBeGreaterThan(10_000);
      }),
    );
  },
);

function leastAgeIn(folder: string): number | undefined {
  const db = new Database(join(folder, 'mirror.db'), { readonly: true });
  try {
    return db.prepare<[], number>('SELECT min(quality_age_seconds) FROM ai_signals').pluck().get();
  } finally {
    db.close();
  }
}

test('an API that allows two calls at once refuses a third', async () => {
  await withLargeApi({ rows: 250, latencyMs: 50, atOnce: 2 }, async (url) => {
    const ask = async () => (await fetch(`${url}/api/v1/news?offset=0&limit=100`)).status;
    expect((await Promise.all([ask(), ask(), ask()])).sort()).toEqual([200, 200, 429]);
  });
});
