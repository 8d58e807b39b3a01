/** A market-mirror whose upstream is the service of another one. */

import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openApp } from '../../src/app.ts';
import { memoryFolder } from '../helpers/folder.ts';
import { setupServe } from '../helpers/serve-bench.ts';
import { read } from '../helpers/sync-bench.ts';

test('holds what the one above holds, proven, also once that has changed', async () => {
  const { bench, url, issue } = await setupServe({ rows: 130, walked: [] });
  const MIRROR_DIR = memoryFolder();
  const environment = { MARKET_API_URL: url, MARKET_API_KEY: issue().key, MIRROR_DIR };
  const app = await openApp({ environment, clock: bench.clock, random: () => 0.5 });
  onTestFinished(app.close);
  const walkBoth = async (job: string) => {
    await bench.mirror(job);
    return await app.mirror(app.job(job), new AbortController().signal);
  };
  for (const job of ['ai-signals', 'news']) {
    await walkBoth(job);
    const dataset = bench.upstream(job);
    dataset.rows.splice(100, 2);
    dataset.rows.unshift(...dataset.make(2));
    dataset.generatedAt &&= '2026-01-02T00:00:00Z';
    // A row leaves with the second proof that lacks it, and below with the second after that.
    for (let walk = 0; walk < 3; walk += 1) await walkBoth(job);
    const rows = `SELECT _key, ${job === 'ai-signals' ? 'asset, confidence' : '_body'} FROM ${job.replace('-', '_')} ORDER BY 1`;
    expect([job, read(join(MIRROR_DIR, 'mirror.db'), rows)]).toEqual([job, bench.sql(rows)]);
    expect((await walkBoth(job)).verdict).toBe(job === 'ai-signals' ? 'snapshot' : 'verified');
  }
});
