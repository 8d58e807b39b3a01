/** The queue of reports: a job scheduler for each that has a schedule, and a worker of its own. They wake; whether a report is due SQLite decides. */

import { Queue, type QueueOptions, Worker } from 'bullmq';
import type { Schedule } from '../base/schedule.ts';
import { upsertSchedulers } from './schedulers.ts';

const REPORTS = 'reports';
/** So many run at once. */
const CONCURRENCY = 2;
/** Of jobs that ended, those that failed are kept for dashboards. */
const kept = { removeOnComplete: { count: 0 }, removeOnFail: { count: 100 } };

/** By report. */
export type ReportSchedules = Readonly<Record<string, Exclude<Schedule, 'off'>>>;

/** @param run runs a report if it is due. */
export function openReports(
  options: QueueOptions,
  run: (report: string) => Promise<void>,
  doubt: () => void,
) {
  const queue = new Queue(REPORTS, options).on('error', doubt);
  const worker = new Worker(REPORTS, ({ name }) => run(name), {
    ...options,
    ...kept,
    concurrency: CONCURRENCY,
    autorun: false,
  }).on('error', doubt);
  let schedules: ReportSchedules = {};
  return {
    queue,
    worker,
    follow(wanted: ReportSchedules): void {
      schedules = wanted;
    },
    upsertSchedulers: (now: number) =>
      upsertSchedulers(
        queue,
        new Map(Object.entries(schedules).map(([report, schedule]) => [report, { schedule }])),
        now,
      ),
    close: () => Promise.allSettled([worker.close(), queue.close()]),
  };
}
