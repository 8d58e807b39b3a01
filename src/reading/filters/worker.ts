/** The thread that looks at rows: a connection of its own, one scan at a time. */

import { openReadOnly, storeFailure } from '../../store/read.ts';
import { openPages } from '../pages.ts';
import { openScan, type RowNumbers, type Scan } from './scan.ts';
import type { ScanRequest } from './thread.ts';

/** It stays open, and must never keep others out. */
const LOCK_WAIT_MS = 5_000;

let scan: Scan | undefined;

export function scanRows({ file, jobs, moment, filters, id, wanted }: ScanRequest): RowNumbers | undefined {
  try {
    if (!scan) {
      const connection = openReadOnly(file, LOCK_WAIT_MS);
      scan = openScan(connection, jobs, openPages(connection, jobs));
    }
    return scan(moment, filters, () => Atomics.load(wanted, 0) === id);
  } catch (thrown) {
    throw storeFailure(thrown, file);
  }
}
