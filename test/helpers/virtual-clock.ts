import { type Clock, systemClock } from '../../src/clock.ts';

export type VirtualClock = Clock & {
  advance(ms: number): void;
  /** Somebody sets the clock, or the machine sleeps: no time passes by the clock that nobody sets. */
  jump(ms: number): void;
  /** Every sleep so far, in milliseconds. */
  slept: number[];
};

/** Time that stands still but for sleeps, which end at once and move it on. */
export function virtualClock(start = Date.parse('2026-11-21T12:00:00Z')): VirtualClock {
  let now = start;
  let jumped = 0;
  const slept: number[] = [];
  return {
    slept,
    now: () => now + jumped,
    monotonic: () => now - start,
    advance: (ms) => {
      now += ms;
    },
    jump: (ms) => {
      jumped += ms;
    },
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      const until = now + Math.max(0, ms);
      slept.push(ms);
      await new Promise(setImmediate);
      signal?.throwIfAborted();
      now = Math.max(now, until);
    },
  };
}

/** The clock of this machine, for what goes on beside processes of their own: they must agree on what time it is. */
export function sharedClock(): VirtualClock {
  return { ...virtualClock(), ...systemClock };
}
