import type { Clock } from '../../src/clock.ts';

/** Time passes only when everybody sleeps, and then at once, to the first who wakes. */
export function virtualClock(now = Date.UTC(2026, 0, 1)): Clock {
  const sleepers = new Set<{ until: number; wake(): void }>();
  let leaping = false;

  function leap(): void {
    const first = [...sleepers].reduce((a, b) => (b.until < a.until ? b : a));
    sleepers.delete(first);
    now = Math.max(now, first.until);
    first.wake();
    leaping = sleepers.size > 0;
    if (leaping) setImmediate(leapIfAny);
  }

  function leapIfAny(): void {
    leaping = false;
    if (sleepers.size > 0) leap();
  }

  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const sleeper = { until: now + ms, wake: resolve };
        sleepers.add(sleeper);
        signal?.addEventListener(
          'abort',
          () => {
            sleepers.delete(sleeper);
            reject(signal.reason);
          },
          { once: true },
        );
        if (!leaping) setImmediate(leapIfAny);
        leaping = true;
      }),
  };
}
