/**
 * When datasets run. BullMQ wakes them: by one job scheduler each, and by one delayed job for a run that waits. Both are written from
 * SQLite, which alone decides whether a woken dataset runs. So a wake too many costs nothing, and a lost one is written again.
 */

import { type Job as BullJob, Queue, type QueueOptions, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { type Clock, isoTime } from '../clock.ts';
import { Failure, Snooze, toError } from '../errors.ts';
import type { Log } from '../log.ts';
import { isConnectionError } from '../redis.ts';
import { nextDue, type Schedule } from '../schedule.ts';

export type RunsOptions = {
  /** Every dataset that there is, with its schedule. */
  schedules: Record<string, Schedule>;
  /** When the last run of a dataset began, in epoch milliseconds; null where there was none, or it is unfinished: then it is due. */
  lastRun: (job: string) => number | null;
  /** Mirrors one dataset once. @throws Snooze to resume later, Failure to leave it to the schedule, the signal's reason. */
  run: (job: string, signal: AbortSignal) => Promise<void>;
};

/** The options of our queues and workers. */
export type BullOptions = {
  connection: Redis;
  prefix: string;
  skipVersionCheck: boolean;
  streams: { events: { maxLen: number } };
};

export type Runs = {
  /** Writes to Redis when each idle dataset is to be woken. */
  plan(): Promise<void>;
  /** After a jump of the clock: at the next plan, the datasets that wait run, and those in `due`. */
  forgetTimes(due: readonly string[]): void;
  /** Takes no more wakes; runs that have begun continue. */
  pause(): void;
  resume(): void;
  /** False where the worker's loop has ended although nobody paused it. */
  isAlive(): boolean;
  /** Resolves when the runs have ended. */
  stop(): Promise<void>;
  /** Resolves when the worker and the queue have left Redis. */
  close(): Promise<unknown>;
};

/** A dataset with a schedule, and what this process alone knows of its runs. */
type Dataset = {
  job: string;
  schedule: Exclude<Schedule, 'off'>;
  running: { stop: AbortController; ended: Promise<void> } | null;
  /** When its latest run began, however it ended. */
  ranAt: number | null;
  waitsUntil: number | null;
  /** It runs when it is woken next, whatever the clock says. */
  runsAnyway: boolean;
};

const QUEUE = 'wakes';
/** Between the wakes of datasets that are due together. */
const STAGGER_MS = 200;
/** After an error of the connection; other errors pause the worker. */
const RETRY_MS = 1_000;
/** Only a dashboard reads the event streams: keep them short. */
const EVENTS_KEPT = 1_000;

/** The options of BullMQ for the Redis behind `connection`. Warns where that may evict our keys. @throws what keeps Redis from saying it. */
export async function bullOptions(connection: Redis, prefix: string, log: Log): Promise<BullOptions> {
  const memory = await connection.info('memory').catch(emptyIfForbidden);
  const policy = /maxmemory_policy:(\S+)/.exec(memory)?.[1];
  const mayEvict = policy !== 'noeviction';
  if (mayEvict)
    log.warn(
      { reason: policy ?? 'unknown' },
      'this Redis may evict jobs: set its maxmemory-policy to noeviction',
    );
  // BullMQ would print the same warning for each connection. Without its check of the version it rounds waits up to seconds, so the
  // check stays where there is nothing to print.
  return { connection, prefix, skipVersionCheck: mayEvict, streams: { events: { maxLen: EVENTS_KEPT } } };
}

/** Some hosts forbid INFO, or lack it. Any other error is of the moment, such as BUSY. */
function emptyIfForbidden(error: Error): string {
  if (/^(?:NOPERM|ERR)\b/.test(error.message)) return '';
  throw error;
}

/** The `error` listener without which an error of a queue would end the process. */
export function listenerOf(report: (error: Error) => void): (error: Error) => void {
  return (error) => {
    if (!isConnectionError(error) && !isOfLostWake(error)) report(error);
  };
}

/** Errors of a wake that Redis has lost or handed out again: the result of its run is in SQLite. */
function isOfLostWake(error: Error): boolean {
  return /could not renew lock|^Missing (lock|key) for job|^Lock mismatch for job|is not in the active state/.test(
    error.message,
  );
}

/** A pattern means the same here as where it was validated. */
const settings: NonNullable<QueueOptions['settings']> = {
  repeatStrategy: (after, { pattern }) =>
    (pattern !== undefined && nextDue({ cron: pattern }, null, after)) || undefined,
};

/** @param ended is called after each run that ended well, and awaited as a part of it. */
export function startRuns(
  parts: RunsOptions & {
    options: BullOptions;
    ended: (job: string) => Promise<void>;
    report: (error: Error) => void;
    log: Log;
    clock: Clock;
  },
): Runs {
  const { schedules, lastRun, options, log, clock } = parts;
  const report = listenerOf(parts.report);
  const datasets = new Map<string, Dataset>();
  for (const [job, schedule] of Object.entries(schedules))
    if (schedule !== 'off')
      datasets.set(job, { job, schedule, running: null, ranAt: null, waitsUntil: null, runsAnyway: false });
  let stopping = false;

  const queue = new Queue(QUEUE, { ...options, settings }).on('error', report);
  const worker = new Worker(QUEUE, ({ name }: BullJob) => wake(name), {
    ...options,
    settings,
    // While all datasets run, there is room for a wake that finds nothing to do.
    concurrency: datasets.size + 1,
    runRetryDelay: RETRY_MS,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  }).on('error', report);

  async function wake(name: string): Promise<void> {
    const dataset = datasets.get(name);
    if (!dataset) log.warn({ job: name.slice(0, 100) }, 'dropped a tick for a job without a schedule');
    if (!dataset || stopping || dataset.running) return;
    try {
      if (!isDue(dataset)) return;
    } catch (thrown) {
      return logFailure(name, thrown);
    }
    const stop = new AbortController();
    const ended = perform(dataset, stop.signal).finally(() => {
      Object.assign(dataset, { running: null, runsAnyway: false });
    });
    dataset.running = { stop, ended };
    await ended;
  }

  /**
   * A run begins a little after its wake, so the next wake comes a little less than an interval after that run. A wake counts from half an
   * interval on.
   */
  function isDue(dataset: Dataset): boolean {
    const { schedule, waitsUntil } = dataset;
    const early = waitsUntil === null && 'every' in schedule ? schedule.every / 2 : 0;
    const now = clock.now();
    return now >= dueAt(dataset, now) - early;
  }

  /** In epoch milliseconds; not after now where it is due. */
  function dueAt({ job, schedule, ranAt, waitsUntil, runsAnyway }: Dataset, now: number): number {
    if (runsAnyway) return now;
    if (waitsUntil !== null) return waitsUntil;
    // SQLite has the runs of other processes, too.
    const last = Math.max(ranAt ?? Number.NEGATIVE_INFINITY, lastRun(job) ?? Number.NEGATIVE_INFINITY);
    if (last === Number.NEGATIVE_INFINITY) return now;
    // The clock may have been ahead then.
    const began = Math.min(last, now);
    return nextDue(schedule, began, began) ?? Number.POSITIVE_INFINITY;
  }

  /** Never rejects: after an error, the next schedule tries again. */
  async function perform(dataset: Dataset, signal: AbortSignal): Promise<void> {
    const { job } = dataset;
    Object.assign(dataset, { ranAt: clock.now(), waitsUntil: null });
    try {
      await parts.run(job, signal);
      await parts.ended(job);
    } catch (thrown) {
      if (thrown instanceof Snooze) return thrown.reason === 'shutdown' ? undefined : wait(dataset, thrown);
      if (signal.aborted && !(thrown instanceof Failure)) return;
      logFailure(job, thrown);
    }
  }

  function logFailure(job: string, thrown: unknown): void {
    const { message: err, stack } = toError(thrown);
    if (thrown instanceof Failure) log.warn({ job, reason: thrown.kind, err }, 'failed');
    else log.error({ job, reason: 'bug', err, stack }, 'failed');
  }

  function wait(dataset: Dataset, { until, reason }: Snooze): void {
    log.info({ job: dataset.job, until: isoTime(until), reason }, 'waiting');
    dataset.waitsUntil = until;
    // Not awaited: if Redis is away, the wake is planned when it is back.
    void wakeAt(dataset, until).catch(report);
  }

  /** The same wake twice is one. */
  async function wakeAt({ job }: Dataset, at: number): Promise<void> {
    const delay = Math.max(0, Math.ceil(at - clock.now()));
    await queue.add(job, {}, { jobId: `${job}-${Math.ceil(at)}`, delay });
  }

  async function planOne(dataset: Dataset, staggerMs: number): Promise<void> {
    const { job, schedule, waitsUntil } = dataset;
    const now = clock.now();
    const at = dueAt(dataset, now);
    // An upsert would keep the planned tick, which a clock that was ahead may have set.
    await queue.removeJobScheduler(job);
    await queue.upsertJobScheduler(
      job,
      'every' in schedule
        ? { every: schedule.every, startDate: at > now ? at : now + schedule.every }
        : { pattern: schedule.cron },
    );
    if (at <= now) await wakeAt(dataset, now + staggerMs);
    else if (waitsUntil !== null) await wakeAt(dataset, waitsUntil);
  }

  return {
    async plan() {
      for (const { key } of await queue.getJobSchedulers())
        if (!datasets.has(key)) {
          await queue.removeJobScheduler(key);
          log.info({ job: key }, 'removed a schedule that nothing declares');
        }
      let staggerMs = 0;
      for (const dataset of datasets.values())
        if (!dataset.running) {
          await planOne(dataset, staggerMs);
          staggerMs += STAGGER_MS;
        }
    },
    forgetTimes(due) {
      for (const dataset of datasets.values()) {
        const runsAnyway = dataset.runsAnyway || dataset.waitsUntil !== null || due.includes(dataset.job);
        Object.assign(dataset, { ranAt: null, waitsUntil: null, runsAnyway });
      }
    },
    pause: () => void worker.pause(true),
    resume: () => void worker.resume(),
    isAlive: () => stopping || worker.isRunning() || worker.isPaused(),
    async stop() {
      stopping = true;
      const running = [...datasets.values()].flatMap(({ running }) => running ?? []);
      for (const { stop } of running) stop.abort(new Snooze(clock.now(), 'shutdown'));
      await Promise.all(running.map(({ ended }) => ended));
    },
    close: () => Promise.allSettled([worker.close(), queue.close()]),
  };
}
