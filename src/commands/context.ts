/** What every command is given, and what those read first that ask the mirror alone. */

import type { Surroundings } from '../app.ts';
import { type LocalConfig, readLocalConfig, readSchedules } from '../config.ts';
import { type Dataset, datasetsOf, listJobs, ownSchedules } from '../job/list.ts';
import type { Output } from '../output/print.ts';

export type Context = Surroundings & {
  /** Results. */
  stdout: Output;
  /** Logs and progress. */
  stderr: Output;
  /** Aborted by SIGINT or SIGTERM. */
  signal: AbortSignal;
  /** Says a word to the process of ours that started this one, where one did. */
  sendToParent?: (word: unknown) => void;
  /** A text for people, whose hints name the program as it was started: `npx market-mirror sync`. */
  hint(text: string): string;
  /** The code to end with where the command ended without an error. */
  exit(code: number): void;
};

type LocalMirror = Pick<LocalConfig, 'dir'> & { datasets: readonly Dataset[] };

/** The folder of the mirror, its datasets and how calls are spent, by the settings. @throws Failure `config`. */
export async function localMirror({ environment }: Context): Promise<LocalMirror> {
  const { dir } = readLocalConfig(environment);
  const jobs = await listJobs();
  return { dir, datasets: datasetsOf(jobs, readSchedules(environment, ownSchedules(jobs))) };
}
