/** The datasets as reports need to know them. */

import { getTableConfig } from 'drizzle-orm/sqlite-core';
import type { Job } from '../../job.ts';

export const tableOf = (job: Job) => getTableConfig(job.table).name;

/** The mirrored tables with their jobs. */
export function tablesOf(jobs: readonly Job[]): Record<string, string> {
  return Object.fromEntries(jobs.map((job) => [tableOf(job), job.name]));
}
