/** The thread that looks at rows: a connection of its own, one scan at a time. */

import { parentPort, workerData } from 'node:worker_threads';
import { sentFailure } from '../../errors.ts';
import { openReadOnly, storeFailure } from '../../store/read.ts';
import { openPages } from '../pages.ts';
import { openScan, type Scan } from './scan.ts';
import type { AnsweredByThread, AskedOfThread, ThreadParts } from './thread.ts';

const { file, jobs, wanted } = workerData as ThreadParts;

let scan: Scan | undefined;

parentPort?.on('message', ({ id, moment, filters }: AskedOfThread) => {
  try {
    scan ??= open();
    const numbers = scan(moment, filters, () => Atomics.load(wanted, 0) === id);
    reply({ numbers }, numbers);
  } catch (thrown) {
    reply(sentFailure(storeFailure(thrown, file)));
  }
});

/** It stays open, and must never keep others out. */
const LOCK_WAIT_MS = 5_000;

function open(): Scan {
  const connection = openReadOnly(file, LOCK_WAIT_MS);
  return openScan(connection, jobs, openPages(connection, jobs));
}

function reply(answered: AnsweredByThread, numbers?: ArrayBufferView): void {
  parentPort?.postMessage(answered, numbers ? [numbers.buffer as ArrayBuffer] : []);
}
