/** When a job runs: `every 2m`, a cron pattern, or `off`. */

import { Cron } from 'croner';
import { DAY_MS } from './clock.ts';
import { millisecondsOf } from './time.ts';

export type Schedule = { every: number } | { cron: string } | 'off';

const SHORTEST_MS = 1_000;
const LONGEST_MS = 30 * DAY_MS;

/**
 * Reads a schedule. Cron patterns are taken in UTC.
 * @throws Error whose message says what a schedule looks like.
 */
export function parseSchedule(text: string): Schedule {
  const written = text.trim();
  if (written === 'off') return 'off';
  const interval = /^every\s+(.+)$/.exec(written)?.[1];
  return interval === undefined ? parseCron(written) : parseInterval(interval);
}

function parseInterval(text: string): Schedule {
  const every = millisecondsOf(text);
  if (every === undefined || !(every >= SHORTEST_MS && every <= LONGEST_MS))
    throw new Error('an interval is between "every 1s" and "every 30d", such as "every 2m"');
  return { every };
}

function parseCron(text: string): Schedule {
  try {
    if (!new Cron(text, { paused: true, timezone: 'UTC' }).nextRun()) throw new Error('never due');
  } catch {
    throw new Error('a schedule is "every 2m", a cron pattern such as "*/5 * * * *" (UTC), or "off"');
  }
  return { cron: text };
}

/** How old the copy may become under this schedule, in milliseconds: the time from one run to the next. */
export function intervalOf(schedule: Schedule, now: number): number {
  if (schedule === 'off') return Number.POSITIVE_INFINITY;
  if ('every' in schedule) return schedule.every;
  const [first, second] = new Cron(schedule.cron, { timezone: 'UTC' }).nextRuns(2, new Date(now));
  return first && second ? second.getTime() - first.getTime() : Number.POSITIVE_INFINITY;
}

/** The most runs of a pattern that are counted one by one. */
const MAX_RUNS = 1_440;

/** What a schedule asks for in the `ms` after `now`: how many runs, and the longest time from one to the next. */
export function runsWithin(schedule: Schedule, now: number, ms: number): { runs: number; longestMs: number } {
  if (schedule === 'off') return { runs: 0, longestMs: Number.POSITIVE_INFINITY };
  if ('every' in schedule) return { runs: ms / schedule.every, longestMs: schedule.every };
  const pattern = new Cron(schedule.cron, { timezone: 'UTC' });
  const first = pattern.nextRun(new Date(now));
  let [runs, longestMs] = [0, Number.POSITIVE_INFINITY];
  for (let at = first; first && at && at.getTime() <= now + ms; ) {
    const next = pattern.nextRun(at);
    const gap = next ? next.getTime() - at.getTime() : Number.POSITIVE_INFINITY;
    longestMs = runs === 0 ? gap : Math.max(longestMs, gap);
    runs += 1;
    if (runs === MAX_RUNS) return { runs: (runs * ms) / (at.getTime() + gap - first.getTime()), longestMs };
    at = next;
  }
  return runs === 0 ? { runs, longestMs: intervalOf(schedule, now) } : { runs, longestMs };
}

/** The next due time after `now`, in epoch milliseconds; for an interval, `last + every`. */
export function nextDue(schedule: Schedule, last: number | null, now: number): number | null {
  if (schedule === 'off') return null;
  if ('every' in schedule) return last === null ? now : Math.max(now, last + schedule.every);
  return new Cron(schedule.cron, { timezone: 'UTC' }).nextRun(new Date(now))?.getTime() ?? null;
}
