/** The queue `mirror-changes`, for workers of users: one job for each proven walk that changed something. */

import { Queue, type QueueOptions } from 'bullmq';

export const CHANGES = 'mirror-changes';

/** What proven walks changed; `lastSeq` numbers the latest of it. */
export type Change = { job: string; lastSeq: number };

export type ChangeSource = {
  /** Up to which number the last proof made the changes of the job known. */
  proven(job: string): number;
  /** What proofs have made known after this number, or null. */
  since(job: string, seq: number): Change | null;
};

/** Of jobs that nobody takes. */
const KEPT = 1_000;

export function openChanges(
  options: QueueOptions,
  jobs: Iterable<string>,
  source: ChangeSource | undefined,
  doubt: () => void,
) {
  const queue = new Queue(CHANGES, options).on('error', doubt);
  /** By job, the number up to which changes were announced. */
  const announced = new Map([...jobs].map((job) => [job, source?.proven(job) ?? 0]));

  return {
    /** Adds what has changed since the last time, if anything. What Redis does not take now comes with the next. Never rejects. */
    async announce(job: string): Promise<void> {
      try {
        const before = announced.get(job) ?? 0;
        const change = source?.since(job, before);
        if (!change) return;
        await queue.add(job, change, {
          // The same change twice is one.
          jobId: `${job}-${before}-${change.lastSeq}`,
          removeOnComplete: true,
          removeOnFail: { count: KEPT },
        });
        announced.set(job, change.lastSeq);
        const waiting = await queue.getWaitingCount();
        if (waiting > KEPT) await queue.clean(0, waiting - KEPT, 'wait');
      } catch {
        doubt();
      }
    },
    close: () => queue.close(),
  };
}
