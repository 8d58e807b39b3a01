/** The datasets as reports need to know them. */

import { readSchedules } from '../../config.ts';
import { type Job, tableOf } from '../../job.ts';
import type { PlannedDataset } from '../../report/plan.ts';

/** The mirrored tables with their jobs. */
export function tablesOf(jobs: readonly Job[]): Record<string, string> {
  return Object.fromEntries(jobs.map((job) => [tableOf(job), job.name]));
}

/** The datasets with the schedules that are set. @throws Failure `config`. */
export function scheduledDatasets(
  jobs: readonly Job[],
  environment: Record<string, string | undefined>,
): PlannedDataset[] {
  const own = Object.fromEntries(jobs.map((job) => [job.name, job.schedule]));
  const schedules = readSchedules(environment, own);
  return jobs.map((job) => ({
    name: job.name,
    table: tableOf(job),
    schedule: schedules[job.name] ?? 'off',
    weight: job.weight,
  }));
}
