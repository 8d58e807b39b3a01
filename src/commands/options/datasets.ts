/** The datasets as reports need to know them. */

import { readSchedules } from '../../config.ts';
import { type Dataset, datasetsOf, type ListedJob, ownSchedules } from '../../job-list.ts';

/** The datasets with the schedules that are set. @throws Failure `config`. */
export function scheduledDatasets(
  jobs: readonly ListedJob[],
  environment: Record<string, string | undefined>,
): Dataset[] {
  return datasetsOf(jobs, readSchedules(environment, ownSchedules(jobs)));
}
