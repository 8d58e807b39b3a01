/** The queue `mirror-changes`: one job for each proven walk that changed something, for report workers of others. */

import { type JobsOptions, Queue } from 'bullmq';
import type { Base } from './bullmq.ts';

export const CHANGES = 'mirror-changes';

/** What a proven walk changed; `lastSeq` numbers the latest of it. */
export type Announcement = { job: string; lastSeq: number };

export type Announcements = {
  /** Adds what has changed since the last time, if anything. */
  announce(job: string, changeSince: (seq: number) => Announcement | null): Promise<void>;
  /** Drops what nobody came for in a week. */
  forget(): Promise<void>;
  close(): Promise<void>;
};

/** Redis evicts nothing by itself, so what nobody comes for is bounded here. */
const KEPT = { ms: 7 * 24 * 3_600_000, jobs: 1_000 };
const kept: JobsOptions = {
  removeOnComplete: true,
  removeOnFail: { age: KEPT.ms / 1_000, count: KEPT.jobs },
};

/** What a Redis was told of a job before anything; never absent, so that a flush shows. */
const NONE = '0';
/** A Redis that was flushed since it was asked has lost what it was told meanwhile, and is told all of it next time. */
const NOTE = `if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end`;

export function openAnnouncements(base: Base, report: (error: Error) => void): Announcements {
  const queue = new Queue(CHANGES, base).on('error', report);
  const { connection, prefix } = base;
  /** By job: up to which `seq` this Redis was told. It goes where the queue goes when Redis is flushed. */
  const told = `${prefix}:told`;
  return {
    async announce(job, changeSince) {
      await connection.hsetnx(told, job, NONE);
      const before = (await connection.hget(told, job)) ?? NONE;
      const change = changeSince(Number(before));
      if (!change) return;
      // Whoever dies between these two tells the same again, under the same id.
      await queue.add(job, change, { ...kept, jobId: `${job}-${before}-${change.lastSeq}` });
      await connection.eval(NOTE, 1, told, job, before, change.lastSeq);
      const waiting = await queue.getWaitingCount();
      if (waiting > KEPT.jobs) await queue.clean(0, waiting - KEPT.jobs, 'wait');
    },
    async forget() {
      await queue.clean(KEPT.ms, KEPT.jobs, 'wait');
    },
    close: () => queue.close(),
  };
}
