/** The queues on one Redis and who works on them: schedules queue runs, the worker runs them, changes are announced. */

import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import type { Schedule } from '../schedule.ts';
import { type Announcement, openAnnouncements } from './announcements.ts';
import { type Context, type Loop, takeBack } from './bullmq.ts';
import { within } from './connection.ts';
import { startSchedules } from './schedules.ts';
import { type Run, startWorker } from './worker.ts';

export type RunsOptions = {
  /** Every job that there is, with its schedule. */
  schedules: Record<string, Schedule>;
  /**
   * When the last finished run of a job began, in epoch milliseconds; null where there was none, or where the
   * last one has not finished. Asked when a schedule is new to Redis: a job that is due then runs at once.
   */
  lastRun: (job: string) => number | null;
  run: Run;
  /**
   * What proven walks have changed after this `seq`, or null. Asked after every run, and now and then: what Redis
   * missed is told when it is back.
   */
  changeSince?: (job: string, seq: number) => Announcement | null;
};

export type Runs = Loop & {
  /** What is under way in Redis and not here goes back: a process or an outage left it so. */
  takeBack(): Promise<void>;
  /** `due`: the clock is another than before, so all that waits asks again, and these jobs run at once. */
  restore(due?: ReadonlySet<string>): Promise<void>;
  /** Announces the changes that Redis has not been told of. */
  announce(): Promise<void>;
  /** Takes no more and tells the runs to stop. Resolves when they have ended. */
  stop(): Promise<void>;
  /** Resolves when Redis knows how the runs ended. */
  close(): Promise<unknown>;
};

export type RunsParts = RunsOptions &
  Context & {
    /** Whether Redis can be told anything now; what it misses is told later. */
    isUp: () => boolean;
    lockMs: number;
    signal: AbortSignal;
  };

/** Left to Redis to be told of the changes of a run. */
const ANNOUNCE_MS = 5_000;

/**
 * Opens the queues. What an earlier process left is taken back, and what waits asks again, since the clock, the quota
 * or the schedules may be others by now.
 * @throws what Redis refuses, with everything closed again; the signal's reason.
 */
export async function openRuns(parts: RunsParts): Promise<Runs> {
  const { base, report, schedules, changeSince } = parts;
  const mirror = new Queue('mirror', base).on('error', report);
  const ticking = startSchedules({ ...parts, enqueue });
  try {
    await takeBack(mirror);
    await mirror.promoteJobs();
    // BullMQ plans the next tick only after it took the last: one that a dead process had taken stands for both.
    await ticking.takeBack();
    parts.signal.throwIfAborted();
  } catch (thrown) {
    await Promise.all([mirror.close(), ticking.close()]);
    throw thrown;
  }
  ticking.resume();
  const changes = openAnnouncements(base, report);
  const worker = startWorker({
    ...parts,
    queue: mirror.name,
    jobs: new Set(Object.keys(schedules)),
    async run(job, signal) {
      await parts.run(job, signal);
      await announce(job).catch(report);
    },
  });

  async function enqueue(job: string): Promise<void> {
    // The id is unique for ever, where BullMQ's counter starts again in a Redis that was flushed.
    await mirror.add(job, {}, { jobId: `${job}-${randomUUID()}`, deduplication: { id: job } });
  }

  async function announce(job: string): Promise<void> {
    if (!changeSince || !parts.isUp()) return;
    const announced = changes.announce(job, (seq) => changeSince(job, seq));
    await within(ANNOUNCE_MS, announced);
  }

  return {
    pause() {
      worker.pause();
      ticking.pause();
    },
    resume() {
      worker.resume();
      ticking.resume();
    },
    isAlive: () => worker.isAlive() && ticking.isAlive(),
    async takeBack() {
      await ticking.takeBack();
      await takeBack(mirror, worker.runs);
    },
    async restore(due) {
      if (due) {
        // Redis may keep it until a time that the clock has left: so long BullMQ would look for no run that lost its lock.
        await base.connection.del(mirror.toKey('stalled-check'));
        await mirror.promoteJobs();
      }
      await ticking.restore(due);
    },
    async announce() {
      await changes.forget();
      for (const job of Object.keys(schedules)) await announce(job);
    },
    stop: () => worker.stop(),
    close: () => Promise.allSettled([worker.close(), ticking.close(), mirror.close(), changes.close()]),
  };
}
