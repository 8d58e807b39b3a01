/** The datasets as reports need to know them. */

import { readSchedules } from '../../config.ts';
import { type Job, ownSchedules, tableOf } from '../../job.ts';
import { datasetsOf, type PlannedDataset } from '../../report/plan.ts';

/** The mirrored tables with their jobs. */
export function tablesOf(jobs: readonly Job[]): Record<string, string> {
  return Object.fromEntries(jobs.map((job) => [tableOf(job), job.name]));
}

/** The datasets with the schedules that are set. @throws Failure `config`. */
export function scheduledDatasets(
  jobs: readonly Job[],
  environment: Record<string, string | undefined>,
): PlannedDataset[] {
  return datasetsOf(jobs, readSchedules(environment, ownSchedules(jobs)));
}
