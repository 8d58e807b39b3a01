import { expect, test } from 'vitest';
import { systemClock } from '../src/base/clock.ts';

test('a wait ends in time, and at once where that is over already', async () => {
  const began = performance.now();
  await systemClock.sleep(20);
  expect(performance.now() - began).toBeGreaterThanOrEqual(19);
  await systemClock.sleep(-1_000);
});

test('a wait ends with the reason of the signal that ends it, also one longer than a timer can count', async () => {
  const reason = new Error('stopped by SIGTERM');
  const stop = new AbortController();
  const waiting = systemClock.sleep(2 ** 40, stop.signal);
  const first = await Promise.race([waiting, systemClock.sleep(10).then(() => 'still waiting')]);
  expect(first).toBe('still waiting');
  stop.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(systemClock.sleep(60_000, stop.signal)).rejects.toBe(reason);
});
