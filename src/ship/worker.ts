/** What runs on the thread that ships. */

import { parentPort, workerData } from 'node:worker_threads';
import { sentFailure } from '../errors.ts';
import { loadJobs } from '../load-jobs.ts';
import { ship } from '../ship.ts';
import type { AskedOfShipper, ShipperParts } from './thread.ts';

const parts = workerData as ShipperParts;
/** It ends with its thread, and Postgres undoes what was not committed. */
const { signal } = new AbortController();

parentPort?.on('message', ({ only, now }: AskedOfShipper) => {
  void answer(only, now);
});

async function answer(only: readonly string[], now: number): Promise<void> {
  try {
    const jobs = await loadJobs();
    parentPort?.postMessage({ outcomes: await ship({ ...parts, jobs, now: () => now, signal }, { only }) });
  } catch (thrown) {
    parentPort?.postMessage(sentFailure(thrown));
  }
}
