/** The datasets as reports need to know them. */

import { readSchedules } from '../../config.ts';
import { type ListedJob, ownSchedules } from '../../job-list.ts';
import { datasetsOf, type PlannedDataset } from '../../report/plan.ts';

/** The mirrored tables with their jobs. */
export function tablesOf(jobs: readonly ListedJob[]): Record<string, string> {
  return Object.fromEntries(jobs.map(({ table, name }) => [table, name]));
}

/** The datasets with the schedules that are set. @throws Failure `config`. */
export function scheduledDatasets(
  jobs: readonly ListedJob[],
  environment: Record<string, string | undefined>,
): PlannedDataset[] {
  return datasetsOf(jobs, readSchedules(environment, ownSchedules(jobs)));
}
