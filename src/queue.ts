/**
 * When datasets run. SQLite and the plan decide; BullMQ wakes.
 *
 * - A dataset is woken by its job scheduler, on time, and by a plain timer, which asks every two seconds what is due: a tick or a delay
 *   that Redis lost costs seconds. A job whose dataset is not due, runs already or waits ends at once, so a wake too many costs nothing.
 * - A dataset that has to wait is moved by BullMQ: the job whose run met the wait is delayed until its end.
 * - While Redis is away, the worker is paused, and the timer runs by itself what is due. Once Redis takes writes again, the schedulers are
 *   written anew and the worker goes on; nothing in Redis is needed for that.
 * - Reports have a queue and a worker of their own (`queue/reports.ts`), and their timer is the daemon's.
 */

import { type Job as BullJob, DelayedError, Queue, Worker } from 'bullmq';
import { ageOf, type Clock, isoTime, systemClock } from './base/clock.ts';
import { Failure, Snooze, toError } from './base/errors.ts';
import type { Log } from './base/log.ts';
import { nextDue, type Schedule } from './base/schedule.ts';
import { parseRedisUrl } from './config.ts';
import { CHANGES, type ChangeSource, openChanges } from './queue/changes.ts';
import { addressOf, connect, within } from './queue/connection.ts';
import { startPrivateRedis } from './queue/private-redis.ts';
import { openReports, type ReportSchedules } from './queue/reports.ts';
import { upsertSchedulers } from './queue/schedulers.ts';

export type { Change } from './queue/changes.ts';

export type QueueOptions = {
  /** A Redis of the user's, or the folder under which to run a private one, whose lock the caller holds. */
  redis: { url: string } | { dir: string };
  /** Of every key in Redis: mirrors that share a Redis need one each. */
  prefix: string;
  /** Every dataset that there is, with its schedule. */
  schedules: Record<string, Schedule>;
  /** When the last run of a dataset began, in epoch milliseconds; null where there was none, or it is unfinished: then it is due. */
  lastRun: (job: string) => number | null;
  /** Mirrors one dataset once. @throws Snooze to resume later, Failure to leave it to the schedule, the signal's reason. */
  run: (job: string, signal: AbortSignal) => Promise<void>;
  changes?: ChangeSource;
  /** Runs a report if it is due; without it there is no queue of reports. */
  runReport?: ((report: string) => Promise<void>) | undefined;
  /** Gets the outage when it begins, and null at its end. */
  onOutage?: (outage: Outage | null) => void;
  log: Log;
  clock?: Clock;
  timing?: Partial<typeof usual>;
};

/** Redis takes no writes; `since` is ISO 8601 UTC. */
export type Outage = { since: string; message: string };

export type MirrorQueue = {
  /** How others reach the queue of changes; `socket` is that of the private Redis, else null. */
  changesAt: { queue: string; prefix: string; socket: string | null };
  /** Lets schedulers wake these reports, and no others. */
  scheduleReports(schedules: ReportSchedules): void;
  /** Has a report run. @returns false where Redis does not take it, or nobody would run it. */
  wakeReport(report: string): Promise<boolean>;
  /** Stops runs at their next page boundary, and leaves nothing running. */
  close(): Promise<void>;
};

/** Milliseconds. */
const usual = {
  /** Between two looks of the timer at what is due. */
  look: 2_000,
  /** Within which Redis must answer. */
  answer: 4_000,
  /** Between two times that the schedulers are written, where nothing happens. */
  upsert: 3_600_000,
  /** Within which `close` ends, whatever happens. */
  close: 8_000,
};

const DATASETS = 'datasets';
/** Of jobs that ended, those that failed are kept for dashboards. */
const kept = { removeOnComplete: { count: 0 }, removeOnFail: { count: 100 } };
/** Only dashboards read the streams of events. */
const streams = { events: { maxLen: 1_000 } };
/** So that BullMQ and SQLite read patterns alike. */
const settings = {
  repeatStrategy: (after: number, { pattern }: { pattern?: string | undefined }) =>
    (pattern !== undefined && nextDue({ cron: pattern }, null, after)) || undefined,
};

/** A dataset with a schedule, and what this process alone knows of its runs. */
type Dataset = {
  job: string;
  schedule: Exclude<Schedule, 'off'>;
  running?: { stop: AbortController; ended: Promise<unknown> } | undefined;
  /** When its latest run began, however that ended. */
  ranAt?: number;
  waits?: { since: number; until: number } | undefined;
};

/**
 * Starts schedulers, worker and timer. A Redis that is not there is logged, and done without until it is.
 * @throws Failure `config` without a Redis server to run, or for a socket whose path is too long; `disk`.
 */
export function startQueue(options: QueueOptions): MirrorQueue {
  const { redis, prefix, schedules, log, clock = systemClock } = options;
  const timing = { ...usual, ...options.timing };
  const ending = new AbortController();
  const datasets = new Map<string, Dataset>();
  for (const [job, schedule] of Object.entries(schedules))
    if (schedule !== 'off') datasets.set(job, { job, schedule });

  const server = 'dir' in redis ? startPrivateRedis({ dir: redis.dir, log, clock }) : undefined;
  const target = 'url' in redis ? parseRedisUrl(redis.url) : (server?.target ?? {});
  const connection = connect(target);
  // BullMQ looks at the version to wait in parts of a second, and would print what it thinks of a Redis of the user's.
  const shared = { connection: connection.client, prefix, streams, settings, skipVersionCheck: !server };
  const queue = new Queue(DATASETS, shared).on('error', doubt);
  const concurrency = Math.max(1, datasets.size);
  const worker = new Worker(DATASETS, work, { ...shared, ...kept, concurrency, autorun: false });
  worker.on('error', doubt);
  const changes = openChanges(shared, datasets.keys(), options.changes, doubt);
  const reports = options.runReport && openReports(shared, options.runReport, doubt);

  let outage: Outage | null = null;
  let beganAt = 0;
  let checkedAt = Number.NEGATIVE_INFINITY;
  let checking: Promise<void> | undefined;
  let upserting: Promise<void> | undefined;
  let unreadable: string | undefined;

  for (const event of ['ready', 'close']) connection.client.on(event, () => void check());
  const looking = lookAgainAndAgain();

  /** What BullMQ calls for a tick, for the end of a wait, and for what the timer found due. */
  async function work(job: BullJob, token?: string): Promise<void> {
    const dataset = datasets.get(job.name);
    if (!dataset) return log.warn({ job: job.name.slice(0, 100) }, 'dropped a job of no scheduled dataset');
    // A run begins a little after its tick, so the next tick comes a little less than an interval after that run.
    const early = 'every' in dataset.schedule && !dataset.waits ? dataset.schedule.every / 2 : 0;
    if (dataset.running || ending.signal.aborted || clock.now() < dueAt(dataset) - early) return;
    const until = await perform(dataset);
    if (until === undefined || token === undefined) return;
    // Where Redis has lost the job or takes nothing, the timer wakes the dataset.
    const isMoved = await job.moveToDelayed(until, token).then(
      () => true,
      () => false,
    );
    if (isMoved) throw new DelayedError();
  }

  /** Runs the dataset once. @returns until when it waits. @throws what it failed of, which is logged. */
  async function perform(dataset: Dataset): Promise<number | undefined> {
    const { job } = dataset;
    const stop = new AbortController();
    Object.assign(dataset, { ranAt: clock.now(), waits: undefined });
    const run = options.run(job, stop.signal);
    dataset.running = { stop, ended: run.catch(() => undefined) };
    try {
      await run;
    } catch (thrown) {
      if (thrown instanceof Snooze) return thrown.reason === 'shutdown' ? undefined : wait(dataset, thrown);
      if (stop.signal.aborted && !(thrown instanceof Failure)) return undefined;
      throw logged(job, toError(thrown));
    } finally {
      dataset.running = undefined;
    }
    if (!outage) void changes.announce(job);
    return undefined;
  }

  function wait(dataset: Dataset, { until, reason, problem: err }: Snooze): number {
    log.info({ job: dataset.job, until: isoTime(until), reason, ...(err && { err }) }, 'waiting');
    dataset.waits = { since: clock.now(), until };
    return until;
  }

  function logged(job: string, error: Error): Error {
    const { message: err, stack } = error;
    if (error instanceof Failure) log.warn({ job, reason: error.kind, err }, 'failed');
    else log.error({ job, reason: 'bug', err, stack }, 'failed');
    return error;
  }

  /** In epoch milliseconds; infinite where the mirror cannot be read. Times that lie ahead are of a clock that was set back since. */
  function dueAt({ job, schedule, ranAt, waits }: Dataset): number {
    const now = clock.now();
    if (waits && waits.since <= now) return waits.until;
    const dueAfter = (began: number) => nextDue(schedule, began, began) ?? Number.POSITIVE_INFINITY;
    const ranAgo = ranAt === undefined ? null : ageOf(ranAt, now);
    const byOwnRun = ranAgo === null ? now : dueAfter(now - ranAgo);
    if (byOwnRun > now) return byOwnRun;
    try {
      // SQLite knows the runs of other processes, too.
      const last = options.lastRun(job);
      unreadable = undefined;
      return last === null ? byOwnRun : Math.max(byOwnRun, dueAfter(Math.min(last, now)));
    } catch (thrown) {
      const { message } = toError(thrown);
      if (message !== unreadable) log.warn({ err: message }, 'the mirror cannot be read to see what is due');
      unreadable = message;
      return Number.POSITIVE_INFINITY;
    }
  }

  async function lookAgainAndAgain(): Promise<void> {
    // It is known first whether Redis is there.
    for (await check(); !ending.signal.aborted; await clock.sleep(timing.look, ending.signal).catch(() => {}))
      await look();
  }

  async function look(): Promise<void> {
    if (outage || !worker.isRunning() || clock.monotonic() - checkedAt > timing.upsert) void check();
    for (const dataset of datasets.values()) {
      const isDue = () => !dataset.running && clock.now() >= dueAt(dataset);
      if (!isDue()) continue;
      const isAdded = await addDue(queue, dataset.job);
      // The worker may have run it meanwhile.
      if (!isAdded && isDue() && !ending.signal.aborted) perform(dataset).catch(() => undefined);
    }
  }

  /** Adds a job for what is due. One that waits to run is left alone. @returns false where none will run. */
  async function addDue(queue: Queue, job: string): Promise<boolean> {
    if (outage) return false;
    const jobId = `due-${job}`;
    const add = async () => {
      const left = await queue.getJob(jobId);
      // An active one without a run is of a process that was killed.
      if (left && (await left.isActive())) return false;
      if (left && (await left.isDelayed())) await left.remove();
      await queue.add(job, {}, { jobId, removeOnComplete: true, removeOnFail: true });
      return true;
    };
    try {
      return await within(timing.answer, add());
    } catch {
      void check();
      return false;
    }
  }

  /** An error of BullMQ may be of one job, such as a lock that was lost, or of Redis. */
  function doubt(): void {
    if (!outage && clock.monotonic() - checkedAt > timing.look) void check();
  }

  /** Writes the schedulers, which shows whether Redis takes writes. Never rejects. */
  function check(): Promise<void> {
    checking ??= (async () => {
      checkedAt = clock.monotonic();
      try {
        upserting ??= followSchedules().finally(() => {
          upserting = undefined;
        });
        await within(timing.answer, upserting);
        if (!ending.signal.aborted) there();
      } catch (thrown) {
        if (!ending.signal.aborted) away(connection.error() ?? toError(thrown));
      }
    })().finally(() => {
      checking = undefined;
    });
    return checking;
  }

  async function followSchedules(): Promise<void> {
    // A full Redis takes a script that removes something first, as an upsert does, but nothing else.
    await connection.client.set(`${prefix}:written`, isoTime(clock.now()), 'PX', timing.upsert);
    const wanted = [...datasets.values()].map(
      (dataset) => [dataset.job, { schedule: dataset.schedule, firstTick: firstTick(dataset) }] as const,
    );
    await upsertSchedulers(queue, new Map(wanted), clock.now());
    await reports?.upsertSchedulers(clock.now());
  }

  const firstTick = (dataset: Dataset) => {
    const at = dueAt(dataset);
    return Number.isFinite(at) ? at : clock.now();
  };

  function away({ message }: Error): void {
    if (outage) return;
    outage = { since: isoTime(clock.now()), message };
    beganAt = clock.monotonic();
    // BullMQ would repeat a refused command at once, for ever.
    for (const one of [worker, reports?.worker]) void one?.pause(true);
    log.warn({ redis: addressOf(target), err: message }, 'Redis is away: a timer runs what is due meanwhile');
    options.onOutage?.(outage);
  }

  function there(): void {
    for (const one of [worker, reports?.worker]) void one?.resume();
    if (outage) {
      const seconds = Math.round((clock.monotonic() - beganAt) / 1_000);
      log.info({ redis: addressOf(target), seconds }, 'Redis is back');
      outage = null;
      options.onOutage?.(null);
    }
    for (const job of datasets.keys()) void changes.announce(job);
  }

  async function close(): Promise<void> {
    ending.abort();
    const running = [...datasets.values()].flatMap((dataset) => dataset.running ?? []);
    for (const { stop } of running) stop.abort(new Snooze(clock.now(), 'shutdown'));
    await within((timing.close * 5) / 8, Promise.all(running.map(({ ended }) => ended))).catch(() =>
      log.warn({}, 'a run did not reach its next page in time'),
    );
    // Without Redis, BullMQ would wait for it.
    const closed = Promise.allSettled([
      ...[worker.close(), queue.close(), changes.close(), reports?.close(), looking],
    ]);
    await within(outage ? 0 : timing.close / 8, closed).catch(() => undefined);
    connection.end();
    await within(timing.close / 16, closed).catch(() => undefined);
    await server?.close();
  }

  let closing: Promise<void> | undefined;
  return {
    changesAt: { queue: CHANGES, prefix, socket: server?.target.path ?? null },
    scheduleReports(schedules) {
      reports?.follow(schedules);
      void check();
    },
    wakeReport: async (report) => reports !== undefined && (await addDue(reports.queue, report)),
    close: () => (closing ??= close()),
  };
}
