/** A scan on a thread of its own, so that whoever serves never stands still; it can be stopped at any moment. */

import { extname } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { asFailure, Failure, type FailureSent, receivedFailure } from '../../errors.ts';
import type { ServedJob } from '../../job-list.ts';
import { askThread, startThread } from '../../thread.ts';
import type { Moment } from '../pages.ts';
import type { Filters } from './asked.ts';
import type { RowNumbers } from './scan.ts';

/** What the thread is started with. `wanted` holds the number of the scan that somebody waits for. */
export type ThreadParts = { file: string; jobs: readonly ServedJob[]; wanted: Int32Array };
export type AskedOfThread = { id: number; moment: Moment; filters: Filters };
export type AnsweredByThread = { numbers: RowNumbers | undefined } | FailureSent;

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
  let worker: Worker | undefined;
  let scans = 0;
  let isClosed = false;

  const stop = () => void Atomics.store(wanted, 0, 0);
  return {
    stop,
    async scan(moment, filters) {
      if (isClosed) throw ended();
      worker ??= startThread(new URL(`worker${extname(import.meta.url)}`, import.meta.url), {
        file,
        jobs,
        wanted,
      } satisfies ThreadParts);
      scans += 1;
      Atomics.store(wanted, 0, scans);
      try {
        const asked: AskedOfThread = { id: scans, moment, filters };
        const answered = await askThread<AnsweredByThread>(worker, asked, ended);
        if ('failed' in answered) throw receivedFailure(answered);
        return answered.numbers;
      } catch (thrown) {
        // What is wrong with the mirror, or with the thread, may be right for the next one.
        await worker?.terminate();
        worker = undefined;
        throw asFailure(thrown);
      }
    },
    async close() {
      isClosed = true;
      await worker?.terminate();
    },
  };
}

const ended = () => new Failure('incomplete', 'the thread that filters rows has ended');
