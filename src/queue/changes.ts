/** The queue `mirror-changes`, for workers of users: one job for each proven walk that changed something. */

import { type JobsOptions, Queue } from 'bullmq';
import { DAY_MS } from '../clock.ts';
import { type BullOptions, listenerOf } from './runs.ts';

export const CHANGES = 'mirror-changes';

/** What a proven walk changed; `lastSeq` numbers the latest of it. */
export type Change = { job: string; lastSeq: number };

/** What proven walks have changed after this `seq`, or null. */
export type ChangeSince = (job: string, seq: number) => Change | null;

export type ChangeQueue = {
  /** Adds what has changed since the last time, if anything. */
  announce(job: string): Promise<void>;
  /** Drops jobs that nobody took in a week. */
  forget(): Promise<void>;
  close(): Promise<void>;
};

/** Redis evicts nothing, so jobs that nobody takes are bounded here. */
const KEPT = { ms: 7 * DAY_MS, jobs: 1_000 };
const jobOptions: JobsOptions = {
  removeOnComplete: true,
  removeOnFail: { age: KEPT.ms / 1_000, count: KEPT.jobs },
};

/** The `seq` before anything. It is written, so that a flush shows. */
const NO_SEQ = '0';
/** Notes nothing if Redis was flushed meanwhile: then all is announced again. */
const NOTE = `if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end`;

export function openChanges(
  options: BullOptions,
  changeSince: ChangeSince,
  report: (error: Error) => void,
): ChangeQueue {
  const queue = new Queue(CHANGES, options).on('error', listenerOf(report));
  const { connection, prefix } = options;
  /** By job, the `seq` up to which this Redis has the changes. A flush removes it with the queue. */
  const announced = `${prefix}:told`;
  /** One after the other: two at once would both drop the oldest job. */
  let latest: Promise<unknown> = Promise.resolve();

  async function announce(job: string): Promise<void> {
    await connection.hsetnx(announced, job, NO_SEQ);
    const before = (await connection.hget(announced, job)) ?? NO_SEQ;
    const change = changeSince(job, Number(before));
    if (!change) return;
    // A process that dies in between announces the same again, under the same id.
    await queue.add(job, change, { ...jobOptions, jobId: `${job}-${before}-${change.lastSeq}` });
    await connection.eval(NOTE, 1, announced, job, before, change.lastSeq);
    const waiting = await queue.getWaitingCount();
    if (waiting > KEPT.jobs) await queue.clean(0, waiting - KEPT.jobs, 'wait');
  }

  return {
    announce(job) {
      const announcing = latest.then(() => announce(job));
      latest = announcing.catch(() => undefined);
      return announcing;
    },
    async forget() {
      await queue.clean(KEPT.ms, KEPT.jobs, 'wait');
    },
    close: () => queue.close(),
  };
}
