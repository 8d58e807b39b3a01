/** What readers need to know of the jobs. The build writes it down, since tables and contracts take longer to load than to read. */

import { existsSync, readFileSync } from 'node:fs';
import { Failure } from '../base/errors.ts';
import { nearest } from '../base/near.ts';
import type { Schedule } from '../base/schedule.ts';
import type { ListedJob } from '../job.ts';

export type { ListedJob, Schema } from '../job.ts';

/** In a build only. */
export const jobListFile = new URL('../../jobs.json', import.meta.url);

export async function listJobs(): Promise<ListedJob[]> {
  if (existsSync(jobListFile)) return JSON.parse(readFileSync(jobListFile, 'utf8')) as ListedJob[];
  const [{ loadJobs }, { listed }] = await Promise.all([import('./load.ts'), import('../job.ts')]);
  return (await loadJobs()).map(listed);
}

/** @throws Failure `usage` for an unknown name, which names those that are known. */
export function findJob<Job extends { name: string }>(jobs: readonly Job[], name: string): Job {
  const found = jobs.find((job) => job.name === name);
  if (found) return found;
  const names = jobs.map((job) => job.name);
  throw new Failure(
    'usage',
    `there is no job '${name}'${nearest(name, names)}; known are ${names.join(', ')}`,
  );
}

/** The jobs of these names, each once. @throws Failure as `findJob` does. */
export const findJobs = <Job extends { name: string }>(
  jobs: readonly Job[],
  names: readonly string[],
): Job[] => [...new Set(names)].map((name) => findJob(jobs, name));

/** The mirrored tables with their jobs. */
export function tablesOf(jobs: readonly ListedJob[]): Record<string, string> {
  return Object.fromEntries(jobs.map(({ table, name }) => [table, name]));
}

/** What keys of the service may open: the datasets, each once. */
export function scopesOf(jobs: readonly Pick<ListedJob, 'scope'>[]): string[] {
  return [...new Set(jobs.flatMap(({ scope }) => scope ?? []))];
}

/** Each job's own schedule, by name. */
export function ownSchedules(jobs: readonly Pick<ListedJob, 'name' | 'schedule'>[]): Record<string, string> {
  return Object.fromEntries(jobs.map((job) => [job.name, job.schedule]));
}

/** A dataset as reports need to know it, with the schedule that is set. */
export type Dataset = Pick<ListedJob, 'name' | 'table' | 'rows' | 'weight'> & { schedule: Schedule };

/** @param schedules those that are set, by job. */
export function datasetsOf(
  jobs: readonly ListedJob[],
  schedules: Readonly<Record<string, Schedule>>,
): Dataset[] {
  return jobs.map(({ name, table, rows, weight }) => ({
    name,
    table,
    rows,
    weight,
    schedule: schedules[name] ?? 'off',
  }));
}
