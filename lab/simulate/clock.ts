/** Virtual time, which passes only when everybody sleeps, and then at once, to the first who wakes; and chance that can be repeated. */

import type { Clock, Random } from '../../src/clock.ts';

type Sleeper = { until: number; order: number; asleep: boolean; wake(): void };

/** @param isBusy whether somebody is at work of whom the clock knows nothing: time stands still for him */
export function virtualClock(now = Date.UTC(2026, 0, 1), isBusy = () => false): Clock {
  const heap: Sleeper[] = [];
  let order = 0;
  let running = false;

  function leap(): void {
    if (isBusy()) return void setImmediate(leap);
    let first = pop(heap);
    while (first && !first.asleep) first = pop(heap);
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
        sleeper.asleep = false;
        reject(signal?.reason);
      };
      const sleeper: Sleeper = {
        until: now + Math.max(0, ms),
        order: order++,
        asleep: true,
        wake() {
          signal?.removeEventListener('abort', stop);
          resolve();
        },
      };
      signal?.addEventListener('abort', stop, { once: true });
      push(heap, sleeper);
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

const before = (a: Sleeper, b: Sleeper) => a.until < b.until || (a.until === b.until && a.order < b.order);

function push(heap: Sleeper[], item: Sleeper): void {
  let at = heap.push(item) - 1;
  while (at > 0) {
    const up = (at - 1) >> 1;
    const parent = heap[up] as Sleeper;
    if (!before(item, parent)) break;
    heap[at] = parent;
    at = up;
  }
  heap[at] = item;
}

function pop(heap: Sleeper[]): Sleeper | undefined {
  const first = heap[0];
  const item = heap.pop();
  if (!item || heap.length === 0) return first;
  let at = 0;
  for (;;) {
    const left = 2 * at + 1;
    if (left >= heap.length) break;
    const right = left + 1;
    const down = right < heap.length && before(heap[right] as Sleeper, heap[left] as Sleeper) ? right : left;
    if (!before(heap[down] as Sleeper, item)) break;
    heap[at] = heap[down] as Sleeper;
    at = down;
  }
  heap[at] = item;
  return first;
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
