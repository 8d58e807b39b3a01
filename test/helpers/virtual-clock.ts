import { type Clock, systemClock } from '../../src/base/clock.ts';

export type VirtualClock = Clock & {
  advance(ms: number): void;
  /** Somebody sets the clock, or the machine sleeps: no time passes by the clock that nobody sets. */
  jump(ms: number): void;
  /** Every sleep so far, in milliseconds. */
  slept: number[];
};

/**
 * Time that stands still but for sleeps, which end at once and move it on. What is to be done after a while is done when
 * something else has moved it so far.
 */
export function virtualClock(start = Date.parse('2026-11-21T12:00:00Z')): VirtualClock {
  let now = start;
  let jumped = 0;
  const slept: number[] = [];
  const timers = new Set<{ at: number; work: () => void }>();
  const moveTo = (time: number) => {
    now = time;
    for (const timer of [...timers]) if (timer.at <= now && timers.delete(timer)) timer.work();
  };
  return {
    slept,
    now: () => now + jumped,
    monotonic: () => now - start,
    advance: (ms) => moveTo(now + ms),
    jump: (ms) => {
      jumped += ms;
    },
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      const until = now + Math.max(0, ms);
      slept.push(ms);
      await new Promise(setImmediate);
      signal?.throwIfAborted();
      moveTo(Math.max(now, until));
    },
    after(ms, work) {
      const timer = { at: now + ms, work };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
  };
}

/** The clock of this machine, for what goes on beside processes of their own: they must agree on what time it is. */
export function sharedClock(): VirtualClock {
  return { ...virtualClock(), ...systemClock };
}

/** So many times as fast as the clock of this machine, for a daemon whose Redis and sockets live in real time: its timer wakes what is due. */
export function hastyClock(factor: number): Clock {
  const [began, from] = [Date.now(), performance.now()];
  const passed = () => (performance.now() - from) * factor;
  return {
    now: () => Math.round(began + passed()),
    monotonic: passed,
    sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
    after: (ms, work) => systemClock.after(ms / factor, work),
  };
}
