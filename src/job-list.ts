/**
 * What those who read the mirror need to know of every job. The build writes it down beside the jobs: these, with
 * their tables and contracts, take longer to load than the mirror to answer.
 */

import { existsSync, readFileSync } from 'node:fs';
import { Failure } from './errors.ts';
import type { DescribedJob } from './job/described.ts';
import type { FollowedJob } from './job/followed.ts';
import type { ServedJob } from './job/served.ts';
import type { Job, ListedJob } from './job.ts';
import { nearest } from './near.ts';
import type { Schedule } from './schedule.ts';

export type { DescribedJob, Schema } from './job/described.ts';
export type { FollowedJob } from './job/followed.ts';
export type { ServedJob } from './job/served.ts';
export type { ListedJob } from './job.ts';

/** In a build only. */
export const jobListFile = new URL('../jobs/list.json', import.meta.url);
export const describedJobsFile = new URL('../jobs/described.json', import.meta.url);
export const followedJobsFile = new URL('../jobs/followed.json', import.meta.url);

export function listJobs(): Promise<ServedJob[]> {
  return writtenDown(jobListFile, async () => (await import('./job/served.ts')).served);
}

/** What is told of each to those who call the service. */
export function describeJobs(): Promise<DescribedJob[]> {
  return writtenDown(describedJobsFile, async () => (await import('./job/described.ts')).described);
}

/** What those need who follow the mirror elsewhere: in Postgres, in a lake. */
export function followedJobs(): Promise<FollowedJob[]> {
  return writtenDown(followedJobsFile, async () => (await import('./job/followed.ts')).followed);
}

async function writtenDown<T>(file: URL, loadForm: () => Promise<(job: Job) => T>): Promise<T[]> {
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as T[];
  const [{ loadJobs }, form] = await Promise.all([import('./load-jobs.ts'), loadForm()]);
  return (await loadJobs()).map(form);
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
export type Dataset = Omit<ListedJob, 'schedule' | 'scope'> & { schedule: Schedule };

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
