/** What runs on the thread of a target: it brings there what it is asked for, and says what has arrived. */

import { type FollowedJob, followedJobs } from '../job-list.ts';
import type { Arrival, AskedOfTarget, SaidByTarget } from '../targets.ts';
import { answerAll } from '../thread.ts';
import type { Outcome } from './datasets.ts';

/** It ends with its thread, at any moment: a target has all of what was on its way, or nothing. */
const { signal } = new AbortController();

/** @param arrived how far a dataset has come by what was done. */
export function followOnThread<Done>(
  bring: (
    asked: AskedOfTarget,
    jobs: readonly FollowedJob[],
    signal: AbortSignal,
  ) => Promise<Outcome<Done>[]>,
  arrived: (done: Done) => Pick<Arrival, 'to' | 'problems'>,
): void {
  answerAll(async (asked: AskedOfTarget): Promise<SaidByTarget> => {
    const outcomes = await bring(asked, await followedJobs(), signal);
    const arrivals = outcomes.map(({ job, done, failure }) => ({
      ...{ job, failure },
      ...(done ? arrived(done) : { to: null, problems: [] }),
    }));
    return { arrivals };
  });
}
