/** A scan on a thread of its own, so that whoever serves never stands still; it can be stopped at any moment. */

import type { FailureSent } from '../../errors.ts';
import type { ServedJob } from '../../job-list.ts';
import { startThread, threadOnDemand } from '../../thread.ts';
import type { Moment } from '../pages.ts';
import type { Filters } from './asked.ts';
import type { RowNumbers } from './scan.ts';

/** What the thread is started with. `wanted` holds the number of the scan that somebody waits for. */
export type ThreadParts = { file: string; jobs: readonly ServedJob[]; wanted: Int32Array };
export type AskedOfThread = { id: number; moment: Moment; filters: Filters };
export type Scanned = { numbers: RowNumbers | undefined };
export type AnsweredByThread = Scanned | FailureSent;

export type ScanThread = {
  /**
   * One at a time. The thread is started by the first.
   * @returns undefined where it was stopped. @throws Failure as reading the mirror does.
   */
  scan(moment: Moment, filters: Filters): Promise<RowNumbers | undefined>;
  /** Ends the scan that is under way. */
  stop(): void;
  close(): Promise<void>;
};

/** @param file the mirror. */
export function scanThread(file: string, jobs: readonly ServedJob[]): ScanThread {
  const wanted = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const parts: ThreadParts = { file, jobs, wanted };
  const thread = threadOnDemand<AskedOfThread, Scanned>(
    () => startThread('worker', import.meta.url, parts),
    'the thread that filters rows',
  );
  let scans = 0;
  return {
    async scan(moment, filters) {
      scans += 1;
      Atomics.store(wanted, 0, scans);
      const { numbers } = await thread.ask({ id: scans, moment, filters });
      return numbers;
    },
    stop: () => void Atomics.store(wanted, 0, 0),
    close: thread.close,
  };
}
