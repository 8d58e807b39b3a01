/** The datasets as reports need to know them. */

import { readSchedules } from '../../config.ts';
import { type ListedJob, ownSchedules } from '../../job-list.ts';
import { type Dataset, datasetsOf } from '../../report/status/datasets.ts';

/** The datasets with the schedules that are set. @throws Failure `config`. */
export function scheduledDatasets(
  jobs: readonly ListedJob[],
  environment: Record<string, string | undefined>,
): Dataset[] {
  return datasetsOf(jobs, readSchedules(environment, ownSchedules(jobs)));
}
