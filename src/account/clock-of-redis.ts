/** The clock of Redis, by which the state of an account lives: somebody may set it, or another Redis takes over. */

import type { Clock } from '../clock.ts';

/** Less is the way there, and what NTP does. */
const JUMP_MS = 10_000;

/**
 * Returns what tells of a time of Redis whether that clock jumped since the last one. Where it agrees with one of ours, it is
 * our other one that was set, or stood still while the machine slept.
 */
export function jumpsOf(clock: Clock): (there: number) => boolean {
  let last: number[] | undefined;
  return (there) => {
    const before = last;
    last = [there - clock.now(), there - clock.monotonic()];
    return before !== undefined && last.every((lead, at) => Math.abs(lead - (before[at] ?? 0)) > JUMP_MS);
  };
}
