/** When datasets run: job schedulers in Redis that emit ticks, and a worker that turns a tick into a job. */

import { Queue, type QueueOptions, type RepeatOptions, Worker } from 'bullmq';
import { nextDue, type Schedule } from '../schedule.ts';
import { type Context, type Loop, loopOf, takeBack } from './bullmq.ts';

export type Schedules = Loop & {
  /**
   * Makes the schedulers in Redis those that are declared, whatever happened to them there. Those of `due` begin anew,
   * with a run at once.
   */
  restore(due?: ReadonlySet<string>): Promise<void>;
  /** Ticks that were taken up and came to nothing come again. */
  takeBack(): Promise<void>;
  close(): Promise<void>;
};

type Declared = Exclude<Schedule, 'off'>;

/** Between the first ticks of datasets that are due together. */
const STAGGER_MS = 200;

/** A pattern means the same here as where it was validated. */
const settings: NonNullable<QueueOptions['settings']> = {
  repeatStrategy: (after, { pattern }) =>
    (pattern !== undefined && nextDue({ cron: pattern }, null, after)) || undefined,
};

/**
 * Ticks live in a queue of their own because BullMQ ignores deduplication in schedulers, and emits the next tick
 * when the last one starts, not when its work is done.
 */
export function startSchedules(
  parts: Context & {
    schedules: Record<string, Schedule>;
    /** When the last finished run of a job began (epoch milliseconds); null: it is due. */
    lastRun: (job: string) => number | null;
    /** Queues a run unless one is queued or under way. */
    enqueue: (job: string) => Promise<void>;
  },
): Schedules {
  const { base, schedules, lastRun, enqueue, report, log, clock } = parts;
  const declared = new Map<string, Declared>();
  for (const [job, schedule] of Object.entries(schedules))
    if (schedule !== 'off') declared.set(job, schedule);

  const queue = new Queue('control', { ...base, settings }).on('error', report);
  const ticks = new Worker(
    'control',
    async ({ name }) => {
      if (declared.has(name)) await enqueue(name);
      else log.warn({ job: name.slice(0, 100) }, 'dropped a tick for a job without a schedule');
    },
    { ...base, settings, autorun: false, removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } },
  )
    .on('error', report)
    .on('failed', (_, error) => report(error));

  async function restore(due: ReadonlySet<string> = new Set()): Promise<void> {
    for (const { key } of await queue.getJobSchedulers())
      if (!declared.has(key)) {
        await queue.removeJobScheduler(key);
        log.info({ job: key }, 'removed a schedule that nothing declares');
      }
    let position = 0;
    for (const [job, schedule] of declared) {
      if (due.has(job)) await queue.removeJobScheduler(job);
      await ensure(job, schedule, STAGGER_MS * position++, due.has(job) ? null : lastRun(job));
    }
  }

  async function ensure(job: string, schedule: Declared, stagger: number, ran: number | null): Promise<void> {
    if (await isInPlace(job, schedule)) return;
    const now = clock.now();
    // The clock may have been ahead then.
    const last = ran === null ? null : Math.min(ran, now);
    const due = last === null ? now : (nextDue(schedule, last, last) ?? now);
    await queue.upsertJobScheduler(job, repetition(schedule, Math.max(due, now) + stagger));
    // A pattern's scheduler starts with its next slot, also where the last one was missed.
    if ('cron' in schedule && due <= now) await enqueue(job);
  }

  /** Upserting a pattern's scheduler again would drop a tick that is overdue. */
  async function isInPlace(job: string, schedule: Declared): Promise<boolean> {
    const found = await queue.getJobScheduler(job);
    if (!found) return false;
    if ((found.next ?? 0) > latestTick(schedule)) {
      // A clock that was ahead set it, and an upsert would keep it.
      await queue.removeJobScheduler(job);
      return false;
    }
    const same =
      'every' in schedule
        ? found.every === schedule.every
        : found.pattern === schedule.cron && found.every === undefined;
    // Without its next tick a scheduler is there but never fires.
    return same && (await queue.getJob(`repeat:${job}:${found.next}`)) !== undefined;
  }

  function latestTick(schedule: Declared): number {
    const now = clock.now();
    if ('every' in schedule) return now + schedule.every + STAGGER_MS * declared.size;
    return nextDue(schedule, null, now) ?? Number.POSITIVE_INFINITY;
  }

  let closing = false;
  const loop = loopOf(ticks);
  return {
    ...loop,
    isAlive: () => closing || loop.isAlive(),
    restore,
    takeBack: () => takeBack(queue),
    async close() {
      closing = true;
      await ticks.close();
      await queue.close();
    },
  };
}

function repetition(schedule: Declared, first: number): RepeatOptions {
  return 'every' in schedule ? { every: schedule.every, startDate: first } : { pattern: schedule.cron };
}
