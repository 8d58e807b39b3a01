/** What every command is given, and what those read first that ask the mirror alone. */

import type { Surroundings } from '../app.ts';
import { readLocalConfig, readSchedules } from '../config.ts';
import { type Dataset, datasetsOf, listJobs, ownSchedules } from '../job-list.ts';
import type { Output } from '../output/print.ts';

export type Context = Surroundings & {
  /** Results. */
  stdout: Output;
  /** Logs and progress. */
  stderr: Output;
  /** Aborted by SIGINT or SIGTERM. */
  signal: AbortSignal;
  /** The code to end with where the command ended without an error. */
  exit(code: number): void;
};

/** The folder of the mirror and its datasets, by the settings. @throws Failure `config`. */
export async function localMirror({
  environment,
}: Context): Promise<{ dir: string; datasets: readonly Dataset[] }> {
  const { dir } = readLocalConfig(environment);
  const jobs = await listJobs();
  return { dir, datasets: datasetsOf(jobs, readSchedules(environment, ownSchedules(jobs))) };
}
