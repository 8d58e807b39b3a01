/** Virtual time, which passes only when everybody sleeps, and then jumps to the first who wakes; and chance that can be repeated. */

import type { Clock, Random } from '../../src/base/clock.ts';

type Sleeper = { until: number; wake(): void };

/** @param isBusy whether work of which the clock knows nothing goes on: time stands still meanwhile. */
export function virtualClock(now = Date.UTC(2026, 0, 1), isBusy = () => false): Clock {
  /** The first to wake comes first; of one moment, the first who went to sleep. */
  const sleepers: Sleeper[] = [];
  let running = false;

  function leap(): void {
    if (isBusy()) return void setImmediate(leap);
    const first = sleepers.shift();
    if (!first) {
      running = false;
      return;
    }
    now = Math.max(now, first.until);
    first.wake();
    setImmediate(leap);
  }

  const sleep: Clock['sleep'] = (ms, signal) =>
    new Promise((resolve, reject) => {
      const stop = () => {
        sleepers.splice(sleepers.indexOf(sleeper), 1);
        reject(signal?.reason);
      };
      const sleeper: Sleeper = {
        until: now + Math.max(0, ms),
        wake() {
          signal?.removeEventListener('abort', stop);
          resolve();
        },
      };
      signal?.addEventListener('abort', stop, { once: true });
      const before = sleepers.findLastIndex(({ until }) => until <= sleeper.until);
      sleepers.splice(before + 1, 0, sleeper);
      if (running) return;
      running = true;
      setImmediate(leap);
    });

  return {
    now: () => now,
    monotonic: () => now,
    sleep,
    after(ms, work) {
      const end = new AbortController();
      sleep(ms, end.signal).then(work, () => undefined);
      return () => end.abort();
    },
  };
}

/** Mulberry32: small, seeded, good enough to vary a simulation. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
