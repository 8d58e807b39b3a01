/** The snapshots of a dataset: one a day (UTC), of which old ones go. */

import { DAY_MS, isoTime } from '../../clock.ts';
import type { ListedJob } from '../../job-list.ts';
import type { Storage } from './storage.ts';

const folderOf = (job: ListedJob) => `${job.table}/snapshots`;

export const snapshotPath = (job: ListedJob, now: number) =>
  `${folderOf(job)}/date=${isoTime(now).slice(0, 10)}/${job.table}.parquet`;

/** The files of all days, the oldest first. */
export async function snapshotFiles(storage: Storage, job: ListedJob): Promise<string[]> {
  const found: string[] = [];
  for (const day of await daysOf(storage, job)) {
    const folder = `${folderOf(job)}/${day}`;
    const { files } = await storage.list(folder);
    found.push(...files.filter((name) => name.endsWith('.parquet')).map((name) => `${folder}/${name}`));
  }
  return found;
}

async function daysOf(storage: Storage, job: ListedJob): Promise<string[]> {
  const { folders } = await storage.list(folderOf(job));
  return folders.filter((name) => /^date=\d{4}-\d\d-\d\d$/.test(name)).sort();
}

/** Removes those that are older than they are to be kept; never the latest one. @returns their paths. */
export async function forgetSnapshots({
  storage,
  job,
  now,
  keepMs,
}: {
  storage: Storage;
  job: ListedJob;
  now: number;
  keepMs: number;
}): Promise<string[]> {
  if (keepMs === Number.POSITIVE_INFINITY) return [];
  const days = await daysOf(storage, job);
  const [before] = days.slice(-2);
  if (days.length < 2 || before === undefined) return [];
  // A clock that has gone far ahead of the snapshot before is not believed.
  const believed = Math.min(now, startOf(before) + 2 * DAY_MS);
  const removed: string[] = [];
  for (const day of days.slice(0, -1)) {
    if (startOf(day) + DAY_MS > believed - keepMs) break;
    const folder = `${folderOf(job)}/${day}`;
    // The receipt goes last: without its file it is told from one that was never written.
    const files = (await storage.list(folder)).files.sort((one, other) =>
      one.startsWith('_') ? 1 : other.startsWith('_') ? -1 : 0,
    );
    for (const name of files) await storage.remove(`${folder}/${name}`);
    removed.push(folder);
  }
  return removed;
}

const startOf = (day: string) => Date.parse(day.slice('date='.length));
