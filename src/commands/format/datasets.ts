/** The datasets as reports need to know them. */

import { type Job, tableOf } from '../../job.ts';

/** The mirrored tables with their jobs. */
export function tablesOf(jobs: readonly Job[]): Record<string, string> {
  return Object.fromEntries(jobs.map((job) => [tableOf(job), job.name]));
}
