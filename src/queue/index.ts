/** The door of the queue: BullMQ and Redis say when a job runs; what a run does is the caller's. */

import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import { type Clock, type Random, systemClock } from '../clock.ts';
import { Failure, toError } from '../errors.ts';
import type { Schedule } from '../schedule.ts';
import { type BreakerTiming, createBreaker, type Outage } from './breaker.ts';
import { openBase, reportTo, takeBack } from './bullmq.ts';
import { CHANGES, type Change, type Changes, openChanges } from './changes.ts';
import { connect, type Link } from './connection.ts';
import type { Log } from './log.ts';
import { orAborted, within } from './patience.ts';
import { type PrivateRedis, privateTarget, startPrivateRedis } from './private-redis.ts';
import { addressOf, parseRedisUrl } from './redis-url.ts';
import { type Schedules, startSchedules } from './schedules.ts';
import { WayError } from './trouble.ts';
import { type MirrorWorker, type Run, startWorker } from './worker.ts';

export type { Outage } from './breaker.ts';
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
  /** Told why runs wait, whenever that is looked at, and of its end by null. */
  onOutage?: (outage: Outage | null) => void;
  /** Of every key in Redis: mirrors that share a Redis need one each. */
  prefix?: string;
  clock?: Clock;
  random?: Random;
  timing?: Partial<Timing>;
  /** Ends the start: `startQueue` then leaves nothing behind, and throws its reason. */
  signal?: AbortSignal;
};

/** Milliseconds. */
export type Timing = BreakerTiming & {
  /** Between two looks at whether the schedules are still in Redis. */
  restore: number;
  /** Between two looks at whether Redis answers, and what is left to it to do so. */
  look: number;
  answer: number;
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
  /**
   * The clock is another than before: all that waits asks again, ticks that lie too far ahead are set anew, and the
   * jobs in `due` run at once. Where Redis is away, when it is back.
   */
  planAnew(due: readonly string[]): void;
  changesAt: ChangesAt;
  /** False where runs are queued and nobody would take them. Without Redis there is nothing to take: that is waiting. */
  isAlive(): boolean;
  /** Stops runs at their next page boundary, to be resumed by the next start, and leaves nothing running. */
  close(): Promise<void>;
};

const defaults = { restore: 60_000, look: 5_000, answer: 4_000, lock: 30_000, close: 8_000 };
const ANSWER_MS = 5_000;
const withoutJitter = () => 0.5;
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
  const at = 'url' in redis ? parseRedisUrl(redis.url) : privateTarget(redis.dir);
  const breaker = createBreaker({
    redis: addressOf(at),
    async trial() {
      if (!link) throw new WayError('ended', 'it has not started yet');
      await link.trial();
    },
    pause() {
      parts?.worker.pause();
      parts?.schedules.pause();
    },
    resume: () => void goOn(),
    changed: (outage) => options.onOutage?.(outage),
    log,
    clock,
    random: options.random ?? withoutJitter,
    timing: options.timing ?? {},
  });
  const { report } = breaker;
  const listener = reportTo(breaker);
  let server: PrivateRedis | undefined;
  let link: Link | undefined;
  let parts: Parts | undefined;
  let restoring: Promise<void> | undefined;
  /** Set while all that waits has yet to be woken, and these jobs have yet to run. */
  let waking: ReadonlySet<string> | undefined;
  const isWell = () => link?.isUp() === true && breaker.outage() === null;
  const timers = [
    setInterval(() => isWell() && void restore(), timing.restore),
    setInterval(() => breaker.outage() ?? void link?.look(), timing.look),
  ];

  function restore(): Promise<void> {
    restoring ??= (async () => {
      try {
        parts ??= await open();
        const due = waking;
        if (due) await wake(parts.mirror);
        await parts.schedules.restore(due);
        if (waking === due) waking = undefined;
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

  /** After an outage: what Redis did not learn of runs that ended is put right before others begin. */
  async function goOn(): Promise<void> {
    try {
      await parts?.schedules.takeBack();
      if (parts) await takeBack(parts.mirror, parts.worker.runs);
      if (closing.signal.aborted) return;
      parts?.worker.resume();
      parts?.schedules.resume();
    } catch (thrown) {
      if (!closing.signal.aborted) report(toError(thrown));
    }
    await restore();
  }

  async function open(): Promise<Parts> {
    if (!link) throw new Error('opened before there is a connection');
    const base = await openBase(link.client, prefix, log);
    const mirror = new Queue('mirror', base).on('error', listener);
    const enqueue = (job: string) => add(mirror, job);
    const ticking = startSchedules({ base, schedules, lastRun, enqueue, report: listener, log, clock });
    try {
      await takeBack(mirror);
      // What waits asks again, since the clock, the quota or the schedules may be others by now.
      await mirror.promoteJobs();
      // BullMQ plans the next tick only after it took the last: one that a dead process had taken stands for both.
      await ticking.takeBack();
      closing.signal.throwIfAborted();
    } catch (thrown) {
      await Promise.all([mirror.close(), ticking.close()]);
      throw thrown;
    }
    ticking.resume();
    return {
      mirror,
      changes: openChanges(base, listener),
      schedules: ticking,
      worker: startWorker({
        base,
        queue: mirror.name,
        jobs: new Set(Object.keys(schedules)),
        async run(job, signal) {
          await options.run(job, signal);
          await announce(job).catch(listener);
        },
        report: listener,
        log,
        clock,
        lockMs: timing.lock,
      }),
    };
  }

  async function wake(mirror: Queue): Promise<void> {
    // Redis may keep it until a time that the clock has left: so long BullMQ would look for no run that lost its lock.
    await link?.client.del(mirror.toKey('stalled-check'));
    await mirror.promoteJobs();
  }

  async function planAnew(due: readonly string[]): Promise<void> {
    waking = new Set([...(waking ?? []), ...due]);
    // One that is under way may have looked at the clock before.
    await restoring;
    if (isWell() && !closing.signal.aborted) await restore();
  }

  /** Waits for no Redis that is away: it is told when it is back. */
  async function announce(job: string): Promise<void> {
    const { changeSince } = options;
    if (parts && changeSince && link?.isUp())
      await within(
        ANSWER_MS,
        parts.changes.announce(job, (seq) => changeSince(job, seq)),
      );
  }

  async function withRedis(action: (parts: Parts) => Promise<unknown>): Promise<void> {
    if (!parts || !link?.isUp() || !(await within(ANSWER_MS, action(parts))))
      throw new Failure('incomplete', 'Redis is not reachable: try again when it is');
  }

  async function close(): Promise<void> {
    closing.abort();
    breaker.close();
    timers.forEach(clearInterval);
    if (parts) {
      const { mirror, changes, schedules, worker } = parts;
      const stopped = worker.stop();
      const closed = Promise.allSettled([worker.close(), schedules.close(), mirror.close(), changes.close()]);
      if (!(await within((timing.close * 5) / 8, stopped)))
        log.warn({}, 'a run did not reach its next page in time');
      await within(link?.isUp() ? timing.close / 8 : 0, closed);
      link?.disconnect();
      await within(timing.close / 16, closed);
    } else link?.disconnect();
    await server?.close();
  }

  try {
    const { signal } = options;
    if ('dir' in redis)
      server = await startPrivateRedis({ dir: redis.dir, log, report, clock, ...(signal && { signal }) });
    link = connect(at, {
      prefix,
      report,
      onUp: () => breaker.outage() ?? void restore(),
      answerMs: timing.answer,
    });
    await orAborted(link.greeted, signal);
    await within(ANSWER_MS, orAborted(restoring ?? Promise.resolve(), signal));
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
    planAnew: (due) => void planAnew(due),
    changesAt: { queue: CHANGES, prefix, socket: server?.connection.path ?? null },
    isAlive: () => !parts || (parts.worker.isAlive() && parts.schedules.isAlive()),
    close: () => (closed ??= close()),
  };
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
