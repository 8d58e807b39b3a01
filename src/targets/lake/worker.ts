/** What runs on the thread that lays a lake. */

import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../clock.ts';
import { readLake } from '../../config.ts';
import { Failure, sentFailure } from '../../errors.ts';
import { followedJobs } from '../../job-list.ts';
import type { Arrival, AskedOfTarget, SaidByTarget } from '../../targets.ts';
import { lay, type Outcome } from '../lake.ts';
import type { LayerParts } from './thread.ts';

const { dir, environment, chance } = workerData as LayerParts;
/** It ends with its thread: a file is there whole, or not at all. */
const { signal } = new AbortController();

parentPort?.on('message', ({ only, now }: AskedOfTarget) => {
  void answer(only, now);
});

async function answer(only: readonly string[], now: number): Promise<void> {
  try {
    const settings = readLake(environment);
    if (!settings) throw new Failure('bug', 'a lake without settings');
    const clock = { ...systemClock, now: () => now };
    const jobs = await followedJobs();
    const outcomes = await lay({ dir, settings, jobs, clock, random: () => chance, signal }, only);
    parentPort?.postMessage({ arrivals: outcomes.map(arrival) } satisfies SaidByTarget);
  } catch (thrown) {
    parentPort?.postMessage(sentFailure(thrown));
  }
}

const arrival = ({ job, laid, failure }: Outcome): Arrival => ({
  job,
  to: laid?.seq ?? null,
  problems: [],
  failure,
});
