/** The door of the queue: BullMQ and Redis say when a job runs; what a run does is the caller's. */

import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import { type Clock, systemClock } from '../clock.ts';
import { Failure, toError } from '../errors.ts';
import type { Schedule } from '../schedule.ts';
import { openBase, reportTo } from './bullmq.ts';
import { CHANGES, type Change, type Changes, openChanges } from './changes.ts';
import { connect, parseRedisUrl } from './connection.ts';
import type { Log } from './log.ts';
import { startPrivateRedis } from './private-redis.ts';
import { type Schedules, startSchedules } from './schedules.ts';
import { type MirrorWorker, type Run, startWorker } from './worker.ts';

export type { Change } from './changes.ts';
export type { Log } from './log.ts';
export type { Run } from './worker.ts';

export type QueueOptions = {
  /** A Redis of the user's, or the folder under which to run a private one; the caller holds it exclusively. */
  redis: { url: string } | { dir: string };
  /** Every job that there is, with its schedule. */
  schedules: Record<string, Schedule>;
  /**
   * When the last finished run of a job began, in epoch milliseconds; null where there was none, or where the
   * last one has not finished. Asked when a schedule is new to Redis: a job that is due then runs at once.
   */
  lastRun: (job: string) => number | null;
  run: Run;
  /**
   * What proven walks have changed after this `seq`, or null. Asked after every run, and now and then: what Redis
   * missed is told when it is back.
   */
  changeSince?: (job: string, seq: number) => Change | null;
  log: Log;
  /** Of every key in Redis: mirrors that share a Redis need one each. */
  prefix?: string;
  clock?: Clock;
  timing?: Partial<Timing>;
};

/** Milliseconds. */
export type Timing = {
  /** Between two looks at whether the schedules are still in Redis. */
  restore: number;
  /** After which the job of a dead process is taken up again. */
  lock: number;
  /** Within which `close` ends, whatever happens. */
  close: number;
};

/** How others reach the queue of changes; `socket` is that of the private Redis, else null. */
export type ChangesAt = { queue: string; prefix: string; socket: string | null };

export type MirrorQueue = {
  /** Queues a run, or wakes one that is snoozed, unless one is under way. @throws Failure `incomplete` without Redis. */
  runNow(job: string): Promise<void>;
  changesAt: ChangesAt;
  /** False where runs are queued and nobody would take them. Without Redis there is nothing to take: that is waiting. */
  isAlive(): boolean;
  /** Stops runs at their next page boundary, to be resumed by the next start, and leaves nothing running. */
  close(): Promise<void>;
};

const defaults: Timing = { restore: 60_000, lock: 30_000, close: 8_000 };
const ANSWER_MS = 5_000;
type Parts = { mirror: Queue; changes: Changes; schedules: Schedules; worker: MirrorWorker };

/**
 * Starts the schedules and the worker. Where Redis is not reachable yet, it says so in the log, returns, and goes
 * on when Redis comes.
 * @throws Failure `config`, `incomplete` or `disk` where there is no Redis to wait for.
 */
export async function startQueue(options: QueueOptions): Promise<MirrorQueue> {
  const { redis, schedules, lastRun, log, prefix = 'market-mirror', clock = systemClock } = options;
  const timing = { ...defaults, ...options.timing };
  const closing = new AbortController();
  const report = reportTo(log);

  const server = 'dir' in redis ? await startPrivateRedis({ dir: redis.dir, log, clock }) : undefined;
  const link = connect(server?.connection ?? parseRedisUrl('url' in redis ? redis.url : ''), {
    log,
    onUp: () => void restore(),
  });
  let parts: Parts | undefined;
  let restoring: Promise<void> | undefined;
  const timer = setInterval(() => link.isUp() && void restore(), timing.restore);

  function restore(): Promise<void> {
    restoring ??= (async () => {
      try {
        parts ??= await open();
        await parts.schedules.restore();
        await parts.changes.forget();
        for (const job of Object.keys(schedules)) await announce(job);
      } catch (thrown) {
        if (!closing.signal.aborted) report(toError(thrown));
      } finally {
        restoring = undefined;
      }
    })();
    return restoring;
  }

  async function open(): Promise<Parts> {
    const base = await openBase(link.client, prefix, log);
    const mirror = new Queue('mirror', base).on('error', report);
    const enqueue = (job: string) => add(mirror, job);
    await takeBack(mirror).catch(report);
    closing.signal.throwIfAborted();
    return {
      mirror,
      changes: openChanges(base, report),
      schedules: startSchedules({ base, schedules, lastRun, enqueue, log, clock }),
      worker: startWorker({
        base,
        queue: mirror.name,
        jobs: new Set(Object.keys(schedules)),
        async run(job, signal) {
          await options.run(job, signal);
          await announce(job).catch(report);
        },
        log,
        clock,
        lockMs: timing.lock,
      }),
    };
  }

  /** Waits for no Redis that is away: it is told when it is back. */
  async function announce(job: string): Promise<void> {
    const { changeSince } = options;
    if (parts && changeSince && link.isUp())
      await within(
        ANSWER_MS,
        parts.changes.announce(job, (seq) => changeSince(job, seq)),
      );
  }

  async function withRedis(action: (parts: Parts) => Promise<unknown>): Promise<void> {
    if (!parts || !link.isUp() || !(await within(ANSWER_MS, action(parts))))
      throw new Failure('incomplete', 'Redis is not reachable: try again when it is');
  }

  async function close(): Promise<void> {
    closing.abort();
    clearInterval(timer);
    if (parts) {
      const { mirror, changes, schedules, worker } = parts;
      const stopped = worker.stop();
      const closed = Promise.allSettled([worker.close(), schedules.close(), mirror.close(), changes.close()]);
      if (!(await within((timing.close * 5) / 8, stopped)))
        log.warn({}, 'a run did not reach its next page in time');
      await within(link.isUp() ? timing.close / 8 : 0, closed);
      link.disconnect();
      await within(timing.close / 16, closed);
    } else link.disconnect();
    await server?.close();
  }

  try {
    await link.greeted;
    await within(ANSWER_MS, restoring ?? Promise.resolve());
  } catch (thrown) {
    await close();
    throw thrown;
  }
  let closed: Promise<void> | undefined;
  return {
    async runNow(job) {
      if (!Object.hasOwn(schedules, job)) throw new Failure('usage', `${job}: there is no such job`);
      await withRedis(({ mirror }) => addOrWake(mirror, job));
    },
    changesAt: { queue: CHANGES, prefix, socket: server?.connection.path ?? null },
    isAlive: () => parts?.worker.isAlive() ?? true,
    close: () => (closed ??= close()),
  };
}

/**
 * We are alone with this prefix: what is active as we start was taken up by a process that died with it. What
 * waits asks again, since the clock, the quota or the schedules may be others by now.
 */
async function takeBack(mirror: Queue): Promise<void> {
  for (const orphan of await mirror.getActive()) await orphan.moveToWait();
  await mirror.promoteJobs();
}

async function addOrWake(mirror: Queue, job: string): Promise<void> {
  const id = await mirror.getDeduplicationJobId(job);
  const queued = id ? await mirror.getJob(id) : undefined;
  if (await queued?.isDelayed()) await queued?.promote();
  else await add(mirror, job);
}

async function add(mirror: Queue, job: string): Promise<void> {
  // The id is unique for ever, where BullMQ's counter starts again in a Redis that was flushed.
  await mirror.add(job, {}, { jobId: `${job}-${randomUUID()}`, deduplication: { id: job } });
}

/** Whether `work` ended within `ms`. Its failure is thrown. */
async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
