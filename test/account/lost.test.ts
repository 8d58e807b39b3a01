/** An account that is lost in Redis, again and again: it may cost refusals, and keeps nobody waiting. */

import { expect, test } from 'vitest';
import { KEY } from './bench.ts';
import { setupWorld, tenfold } from './machines.ts';

const SECOND = 1_000;
const PERIOD_MS = 12 * SECOND;

test('five losses, four seconds apart, keep no machine waiting for permits that nobody holds', async () => {
  const { clock, model, server, open, elapsed, refusals } = await setupWorld(
    { latencyMs: 30, quota: { limit: 60, periodMs: PERIOD_MS }, concurrency: 6 },
    tenfold(),
  );
  const begun = clock.now();
  const machines = [await open(), await open()];
  const walks = machines.flatMap(({ walk }) =>
    ['ai-signals', 'news', 'smart-wallets'].map(async (job) => {
      while (elapsed() < 32 * SECOND) await walk(job, 1);
    }),
  );
  for (let loss = 1; loss <= 5; loss += 1) {
    await clock.sleep(begun + loss * 4 * SECOND - clock.now());
    // On a busy machine what was lost last may not have been written again yet.
    while ((await server.client.del(KEY)) === 0) await clock.sleep(SECOND / 10);
  }
  await Promise.all(walks);
  const times = model.calls.map(({ at }) => at - begun);
  const longest = Math.max(...times.map((at, index) => at - (times[index - 1] ?? 0)));
  expect(longest).toBeLessThan(2 * PERIOD_MS);
  expect(refusals()).toBeLessThanOrEqual(5);
});
