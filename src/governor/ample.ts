/** When calls may be asked ahead of their turn, and how many: only where all is well, and calls are ample. */

import { mostOfOne } from './concurrency.ts';
import type { EventOf } from './events.ts';
import { isApart, levelAt, type Quota } from './quota.ts';
import { reserveOf } from './quota-probe.ts';
import { DAY_MS, type State } from './state.ts';
import { nextReset } from './window.ts';

/** Ample is what leaves so much of the pool beside all that is foreseen. */
const AMPLE_PART = 0.25;

/**
 * How many calls of the job may be asked ahead, all at once. Once a walk goes on by them, all that are under way are of
 * this kind: it is proven only by its answer whether the one whose turn has come was needed.
 * @param others how many calls other processes may have under way.
 * @param unanswered calls of any process that may be made or answered at any moment.
 */
export function mostAhead(
  state: State,
  { job, foreseen = 0 }: EventOf<'ask'>,
  others: number,
  unanswered: number,
  now: number,
): number {
  const { pause, keyRefused, jobs, concurrency } = state;
  const known = jobs[job];
  if (foreseen < 1 || pause || keyRefused || known?.outage || known?.forbidden) return 0;
  if (!isAmple(state, job, foreseen + unanswered, now)) return 0;
  return Math.max(0, Math.min(foreseen, mostOfOne(concurrency) - others));
}

/**
 * Whether there are calls for all that is foreseen, for as many others as usual until more come, and some to spare. A quota of
 * which nobody has told counts as ample until a call is refused for want of it.
 */
function isAmple({ quota, ahead }: State, job: string, foreseen: number, now: number): boolean {
  if (quota.source === 'count') return false;
  const level = levelAt(quota, now);
  if (level === null || isApart(quota, job)) return true;
  const usual = (ahead.calls / DAY_MS) * untilMore(quota, now);
  const toSpare = AMPLE_PART * (quota.limit ?? 0);
  return level >= foreseen + usual + reserveOf(quota) + toSpare;
}

/** Milliseconds until the quota resets; a day where nobody knows. */
function untilMore({ window }: Quota, now: number): number {
  const next = nextReset(window, now);
  return next === null ? DAY_MS : next - now;
}
