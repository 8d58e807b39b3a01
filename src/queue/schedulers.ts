/** The job schedulers of a queue, as its schedules say. */

import type { Queue } from 'bullmq';
import type { Schedule } from '../base/schedule.ts';

export type Scheduled = { schedule: Exclude<Schedule, 'off'>; firstTick?: number };

/** Makes a scheduler for each name, and removes those of others. @param now epoch milliseconds. */
export async function upsertSchedulers(
  queue: Queue,
  wanted: ReadonlyMap<string, Scheduled>,
  now: number,
): Promise<void> {
  for (const { key, next } of await queue.getJobSchedulers()) {
    const schedule = wanted.get(key)?.schedule;
    // An upsert keeps the next tick, which a clock that was ahead may have set.
    const isFar = schedule && 'every' in schedule && (next ?? 0) > now + schedule.every;
    if (!schedule || isFar) await queue.removeJobScheduler(key);
  }
  for (const [name, { schedule, firstTick }] of wanted)
    if (!('every' in schedule)) await queue.upsertJobScheduler(name, { pattern: schedule.cron, tz: 'UTC' });
    else
      await queue.upsertJobScheduler(name, {
        every: schedule.every,
        ...(firstTick !== undefined && { startDate: firstTick }),
      });
}
