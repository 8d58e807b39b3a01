/** What became of each dataset at a target: in lines or as JSON, and in the exit code. */

import { exitCodes, worstExitCode } from '../errors.ts';
import { type FollowedJob, findJob, followedJobs } from '../job-list.ts';
import { printable, printableJson } from '../printable.ts';
import type { Outcome } from '../targets/datasets.ts';
import type { Context } from './context.ts';

/** All jobs, and which of them were named: undefined where none was, for all are meant. @throws Failure `usage`. */
export async function jobsNamed(
  names: readonly string[],
): Promise<{ jobs: readonly FollowedJob[]; only: readonly string[] | undefined }> {
  const jobs = await followedJobs();
  const only = names.map((name) => findJob(jobs, name).name);
  return { jobs, only: only.length > 0 ? only : undefined };
}

/** How is told what was done with a dataset. */
export type Telling<Done> = {
  /** The first line goes behind the name of the job. */
  lines(done: Done): readonly string[];
  /** Beside what is told of every outcome; null where it failed. */
  json(done: Done | null): object;
  exitCode(done: Done): number;
};

export function tellOutcomes<Done>(
  outcomes: readonly Outcome<Done>[],
  { lines, json, exitCode }: Telling<Done>,
  isJson: boolean,
  { stdout, exit }: Pick<Context, 'stdout' | 'exit'>,
): void {
  const exitCodeOf = ({ done, failure }: Outcome<Done>) =>
    failure ? exitCodes[failure.kind] : exitCode(done);
  const forJson = (outcome: Outcome<Done>) => ({
    job: outcome.job,
    exitCode: exitCodeOf(outcome),
    message: outcome.failure?.message ?? null,
    ...json(outcome.done),
  });
  const linesOf = ({ job, done, failure }: Outcome<Done>) => {
    const [first, ...more] = failure ? [failure.message] : lines(done);
    return [`${job}: ${first}`, ...more];
  };
  if (isJson) stdout.write(`${printableJson(outcomes.map(forJson))}\n`);
  else for (const line of outcomes.flatMap(linesOf)) stdout.write(`${printable(line)}\n`);
  exit(worstExitCode(outcomes.map(exitCodeOf)));
}
