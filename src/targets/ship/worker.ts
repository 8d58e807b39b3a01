/** What runs on the thread that ships. */

import { parentPort, workerData } from 'node:worker_threads';
import { sentFailure } from '../../errors.ts';
import { followedJobs } from '../../job-list.ts';
import type { Arrival, AskedOfTarget, SaidByTarget } from '../../targets.ts';
import { type Outcome, ship } from '../ship.ts';
import type { ShipperParts } from './thread.ts';

const parts = workerData as ShipperParts;
/** It ends with its thread, and Postgres undoes what was not committed. */
const { signal } = new AbortController();

parentPort?.on('message', ({ only, now }: AskedOfTarget) => {
  void answer(only, now);
});

async function answer(only: readonly string[], now: number): Promise<void> {
  try {
    const jobs = await followedJobs();
    const outcomes = await ship({ ...parts, jobs, now: () => now, signal }, { only });
    parentPort?.postMessage({ arrivals: outcomes.map(arrival) } satisfies SaidByTarget);
  } catch (thrown) {
    parentPort?.postMessage(sentFailure(thrown));
  }
}

const arrival = ({ job, shipped, failure }: Outcome): Arrival => ({
  job,
  to: shipped?.to ?? null,
  problems: shipped?.problems ?? [],
  failure,
});
