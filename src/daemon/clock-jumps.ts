/** Notices that the clock was set, or that the machine slept. */

import { CLOCK_TOLERANCE_MS, type Clock } from '../clock.ts';

const LOOK_EVERY_MS = 2_000;

/** Calls `jumped` with the milliseconds by which the clock went forward or back (negative), until `signal` is aborted. Never rejects. */
export async function watchClock(
  clock: Clock,
  jumped: (byMs: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const lead = () => clock.now() - clock.monotonic();
  for (let known = lead(); ; ) {
    try {
      await clock.sleep(LOOK_EVERY_MS, signal);
    } catch {
      return;
    }
    const byMs = lead() - known;
    if (Math.abs(byMs) <= CLOCK_TOLERANCE_MS) continue;
    known += byMs;
    jumped(byMs);
  }
}
