/** A clock for limits: whatever is done to the clock of the machine, it never goes back and never stands still. */

import type { Clock } from '../../../clock.ts';

/**
 * Follows the machine's clock. Where that is set back, it goes on by the clock that nobody sets, ahead of the other until
 * that has caught up; where it is set ahead, or the machine slept, it follows, since the time may have passed.
 * @param from the latest time that was counted by before, in epoch milliseconds.
 * @returns whole epoch milliseconds.
 */
export function steadyClock(
  { now, monotonic }: Pick<Clock, 'now' | 'monotonic'>,
  from: number,
): () => number {
  let wall = now();
  let passed = monotonic();
  let ahead = Math.max(0, from - wall);
  return () => {
    const [newWall, newPassed] = [now(), monotonic()];
    const jump = newWall - wall - (newPassed - passed);
    ahead = Math.max(0, ahead - jump);
    [wall, passed] = [newWall, newPassed];
    return Math.floor(wall + ahead);
  };
}
