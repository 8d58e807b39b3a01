/** A scan on a thread of its own, so that whoever serves never stands still; it can be stopped at any moment. */

import type { ListedJob } from '../../job-list.ts';
import { threadOnDemand } from '../../worker.ts';
import type { Moment } from '../pages.ts';
import type { Filters } from './asked.ts';
import type { RowNumbers } from './scan.ts';

export type ScanRequest = {
  /** The mirror: the same in every call of a thread, as are the jobs. */
  file: string;
  jobs: readonly ListedJob[];
  moment: Moment;
  filters: Filters;
  id: number;
  /** Shared: holds the id of the scan that somebody waits for. */
  wanted: Int32Array;
};

export type ScanThread = {
  /**
   * One at a time. The thread is started by the first.
   * @returns undefined where it was stopped. @throws Failure as reading the mirror does.
   */
  scan(moment: Moment, filters: Filters): Promise<RowNumbers | undefined>;
  /** Ends the scan that is under way. */
  stop(): void;
  close(): void;
};

/** @param file the mirror. */
export function scanThread(file: string, jobs: readonly ListedJob[]): ScanThread {
  const wanted = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const thread = threadOnDemand<ScanRequest, RowNumbers | undefined>(
    'filter',
    'the thread that filters rows',
  );
  let id = 0;
  return {
    async scan(moment, filters) {
      id += 1;
      Atomics.store(wanted, 0, id);
      return await thread.call({ file, jobs, moment, filters, id, wanted });
    },
    stop: () => void Atomics.store(wanted, 0, 0),
    close: thread.close,
  };
}
