/** The door of the queue: BullMQ and Redis say when a job runs; what a run does is the caller's. */

import { type Clock, type Random, systemClock } from './clock.ts';
import { toError } from './errors.ts';
import { CHANGES } from './queue/announcements.ts';
import { type BreakerTiming, createBreaker, type Outage } from './queue/breaker.ts';
import { listenerOf, openBase } from './queue/bullmq.ts';
import { connect, type Link, orAborted, within } from './queue/connection.ts';
import type { Log } from './queue/log.ts';
import { type PrivateRedis, privateTarget, startPrivateRedis } from './queue/private-redis.ts';
import { openRuns, type Runs, type RunsOptions } from './queue/runs.ts';
import { addressOf, parseRedisUrl, RedisError } from './redis.ts';

export type { Announcement } from './queue/announcements.ts';
export type { Outage } from './queue/breaker.ts';
export type { Log } from './queue/log.ts';
export type { Run } from './queue/worker.ts';

export type QueueOptions = RunsOptions & {
  /** A Redis of the user's, or the folder under which to run a private one; the caller holds it exclusively. */
  redis: { url: string } | { dir: string };
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
/** Left to the first look at the queues; where it takes longer, it goes on by itself. */
const FIRST_LOOK_MS = 5_000;
const withoutJitter = () => 0.5;

/**
 * Starts the schedules and the worker. Where Redis is not reachable yet, it says so in the log, returns, and goes
 * on when Redis comes.
 * @throws Failure `config`, `incomplete` or `disk` where there is no Redis to wait for.
 */
export async function startQueue(options: QueueOptions): Promise<MirrorQueue> {
  const { redis, log, prefix = 'market-mirror', clock = systemClock, signal } = options;
  const timing = { ...defaults, ...options.timing };
  const closing = new AbortController();
  const at = 'url' in redis ? parseRedisUrl(redis.url) : privateTarget(redis.dir);
  const breaker = createBreaker({
    redis: addressOf(at),
    async trial() {
      if (!link) throw new RedisError('ended', 'it has not started yet');
      await link.trial();
    },
    pause: () => runs?.pause(),
    resume: () => void goOn(),
    changed: (outage) => options.onOutage?.(outage),
    log,
    clock,
    random: options.random ?? withoutJitter,
    timing: options.timing ?? {},
  });
  const { report } = breaker;
  let server: PrivateRedis | undefined;
  let link: Link | undefined;
  let runs: Runs | undefined;
  let restoring: Promise<void> | undefined;
  /** Set while all that waits has yet to be woken, and these jobs have yet to run. */
  let waking: ReadonlySet<string> | undefined;
  const isWell = () => link?.isUp() === true && breaker.outage() === null;
  const timers = [
    setInterval(() => isWell() && void restore(), timing.restore),
    setInterval(() => breaker.outage() ?? void link?.look(), timing.look),
  ];

  function restore(): Promise<void> {
    restoring ??= reporting(async () => {
      runs ??= await open();
      const due = waking;
      await runs.restore(due);
      if (waking === due) waking = undefined;
      await runs.announce();
    }).finally(() => {
      restoring = undefined;
    });
    return restoring;
  }

  /** After an outage: what Redis did not learn of runs that ended is put right before others begin. */
  async function goOn(): Promise<void> {
    await reporting(async () => {
      await runs?.takeBack();
      if (!closing.signal.aborted) runs?.resume();
    });
    if (!closing.signal.aborted) await restore();
  }

  async function reporting(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      if (!closing.signal.aborted) report(toError(thrown));
    }
  }

  async function open(): Promise<Runs> {
    if (!link) throw new Error('opened before there is a connection');
    const { client, isUp } = link;
    const base = await openBase(client, prefix, log);
    const context = { base, report: listenerOf(report), log, clock };
    return openRuns({ ...options, ...context, isUp, lockMs: timing.lock, signal: closing.signal });
  }

  async function planAnew(due: readonly string[]): Promise<void> {
    waking = new Set([...(waking ?? []), ...due]);
    // One that is under way may have looked at the clock before.
    await restoring;
    if (isWell() && !closing.signal.aborted) await restore();
  }

  async function close(): Promise<void> {
    closing.abort();
    breaker.close();
    timers.forEach(clearInterval);
    const stopped = runs?.stop();
    const closed = runs?.close();
    if (stopped && !(await within((timing.close * 5) / 8, stopped)))
      log.warn({}, 'a run did not reach its next page in time');
    if (closed) await within(link?.isUp() ? timing.close / 8 : 0, closed);
    link?.disconnect();
    if (closed) await within(timing.close / 16, closed);
    await server?.close();
  }

  try {
    if ('dir' in redis) server = await startPrivateRedis({ dir: redis.dir, log, report, clock, signal });
    const onUp = () => breaker.outage() ?? void restore();
    link = connect(at, { prefix, report, onUp, answerMs: timing.answer });
    await orAborted(link.greeted, signal);
    await within(FIRST_LOOK_MS, orAborted(restoring ?? Promise.resolve(), signal));
  } catch (thrown) {
    await close();
    throw thrown;
  }
  let closed: Promise<void> | undefined;
  return {
    planAnew: (due) => void planAnew(due),
    changesAt: { queue: CHANGES, prefix, socket: server?.connection.path ?? null },
    isAlive: () => runs?.isAlive() ?? true,
    close: () => (closed ??= close()),
  };
}
