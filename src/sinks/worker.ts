/** What runs on the thread of a target: it brings there what it is asked for, and says what has arrived. */

import { type ListedJob, listJobs } from '../job-list.ts';
import type { Arrival, FollowResponse } from '../sinks.ts';
import type { Outcome } from './datasets.ts';

/** It ends with its thread, at any moment: a target has all of what was on its way, or nothing. */
const { signal } = new AbortController();

/** @param arrived how far a dataset has come by what was done. */
export async function followed<Done>(
  bring: (jobs: readonly ListedJob[], signal: AbortSignal) => Promise<Outcome<Done>[]>,
  arrived: (done: Done) => Pick<Arrival, 'to' | 'problems'>,
): Promise<FollowResponse> {
  const outcomes = await bring(await listJobs(), signal);
  const arrivals = outcomes.map(({ job, done, failure }) => ({
    ...{ job, failure },
    ...(done ? arrived(done) : { to: null, problems: [] }),
  }));
  return { arrivals };
}
