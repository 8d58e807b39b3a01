/** The door of the queue: BullMQ and Redis wake datasets, which the caller runs. */

import { type Clock, type Random, systemClock } from './clock.ts';
import { parseRedisUrl } from './config.ts';
import { asFailure, Failure, toError } from './errors.ts';
import type { Log } from './log.ts';
import { type BreakerTiming, createBreaker, type Outage } from './queue/breaker.ts';
import { CHANGES, type ChangeQueue, type ChangeSince, openChanges } from './queue/changes.ts';
import { connect, greet, type Link, orAborted, within } from './queue/connection.ts';
import { type PrivateRedis, privateTarget, startPrivateRedis } from './queue/private-redis.ts';
import { bullOptions, type Runs, type RunsOptions, startRuns } from './queue/runs.ts';
import { addressOf, RedisError } from './redis.ts';

export type { Outage } from './queue/breaker.ts';
export type { Change } from './queue/changes.ts';

export type QueueOptions = RunsOptions & {
  /** A Redis of the user's, or the folder under which to run a private one, whose lock the caller holds. */
  redis: { url: string } | { dir: string };
  /** Called after every run that ended well, and now and then, for changes that Redis missed. */
  changeSince?: ChangeSince;
  log: Log;
  /** Gets the outage when it begins and after each trial, and null at its end. */
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
type Timing = BreakerTiming & {
  /** Between two times that the schedules are written to Redis. */
  restore: number;
  /** Between two pings of Redis, and within which it must answer one. */
  look: number;
  answer: number;
  /** Within which `close` ends, whatever happens. */
  close: number;
};

/** How others reach the queue of changes; `socket` is that of the private Redis, else null. */
export type ChangesAt = { queue: string; prefix: string; socket: string | null };

export type MirrorQueue = {
  /** After a jump of the clock: writes the schedules anew and runs all that waits, and the jobs in `due`, once Redis is there. */
  planAnew(due: readonly string[]): void;
  changesAt: ChangesAt;
  /** False where runs are due and nobody would begin them. To wait for Redis is no such case. */
  isAlive(): boolean;
  /** Stops runs at their next page boundary, and leaves nothing running. */
  close(): Promise<void>;
};

const defaults = { restore: 60_000, look: 5_000, answer: 4_000, close: 8_000 };
/** How long the start waits for the first plan. */
const FIRST_PLAN_MS = 5_000;
/** How long a run waits for Redis to take its changes. */
const ANNOUNCE_MS = 5_000;
const withoutJitter = () => 0.5;

/**
 * Starts the schedules and the worker. A Redis that is not reachable yet is logged and waited for, after this returns.
 * @throws Failure `config`, `incomplete` or `disk` where there is no Redis to wait for.
 */
export async function startQueue(options: QueueOptions): Promise<MirrorQueue> {
  const { redis, log, prefix = 'market-mirror', clock = systemClock, signal } = options;
  const { schedules } = options;
  const lastRun = (job: string) => readMirror(() => options.lastRun(job));
  const changeSince: ChangeSince = (job, seq) => readMirror(() => options.changeSince?.(job, seq) ?? null);
  const timing = { ...defaults, ...options.timing };
  const closing = new AbortController();
  const target = 'url' in redis ? parseRedisUrl(redis.url) : privateTarget(redis.dir);
  const breaker = createBreaker({
    redis: addressOf(target),
    async trial() {
      if (!link) throw new RedisError('ended', 'it has not started yet');
      await link.trial();
    },
    pause: () => runs?.pause(),
    resume() {
      runs?.resume();
      void restore();
    },
    changed: (outage) => options.onOutage?.(outage),
    log,
    clock,
    random: options.random ?? withoutJitter,
    timing: options.timing ?? {},
  });
  /** A Failure is an error of the mirror, not of Redis: the next plan tries again. */
  const report = (error: Error) => {
    if (!(error instanceof Failure)) return breaker.report(error);
    log.warn(
      { reason: error.kind, err: error.message },
      'the mirror cannot be read to plan runs or to announce changes',
    );
  };
  let server: PrivateRedis | undefined;
  let link: Link | undefined;
  let runs: Runs | undefined;
  let changes: ChangeQueue | undefined;
  let restoring: Promise<void> | undefined;
  /** Jobs that are to run at once, kept until there are runs. */
  const dueAtOpen: string[] = [];
  const isWell = () => link !== undefined && breaker.outage() === null && !closing.signal.aborted;
  const timers = [
    setInterval(() => isWell() && void restore(), timing.restore),
    setInterval(() => isWell() && void link?.ping(), timing.look),
  ];

  /** Writes to Redis all that it should have. Never rejects. */
  function restore(): Promise<void> {
    restoring ??= (async () => {
      try {
        if (!runs || !changes) await open();
        await runs?.plan();
        await changes?.forget();
        for (const job of Object.keys(schedules)) await announce(job);
      } catch (thrown) {
        report(toError(thrown));
      }
    })().finally(() => {
      restoring = undefined;
    });
    return restoring;
  }

  async function open(): Promise<void> {
    if (!link) throw new Error('opened before there is a connection');
    const shared = await bullOptions(link.client, prefix, log);
    closing.signal.throwIfAborted();
    changes = openChanges(shared, changeSince, report);
    const ended = async (job: string) => {
      if (isWell()) await announce(job).catch(report);
    };
    runs = startRuns({ ...options, lastRun, options: shared, ended, report, log, clock });
    runs.forgetTimes(dueAtOpen);
  }

  async function announce(job: string): Promise<void> {
    if (changes) await within(ANNOUNCE_MS, changes.announce(job));
  }

  async function planAnew(due: readonly string[]): Promise<void> {
    // A plan that is being written may have read the clock before it was set.
    await restoring;
    if (runs) runs.forgetTimes(due);
    else dueAtOpen.push(...due);
    if (isWell()) await restore();
  }

  async function close(): Promise<void> {
    closing.abort();
    const isUp = breaker.outage() === null;
    breaker.close();
    timers.forEach(clearInterval);
    const stopped = runs?.stop();
    if (stopped && !(await within((timing.close * 5) / 8, stopped)))
      log.warn({}, 'a run did not reach its next page in time');
    const closed = Promise.allSettled([runs?.close(), changes?.close()]);
    await within(isUp ? timing.close / 8 : 0, closed);
    link?.disconnect();
    await within(timing.close / 16, closed);
    await server?.close();
  }

  try {
    if ('dir' in redis) server = await startPrivateRedis({ dir: redis.dir, log, report, clock, signal });
    const absence = await greet(target, signal);
    link = connect(target, { prefix, report, answerMs: timing.answer });
    if (absence) report(absence);
    else await within(FIRST_PLAN_MS, orAborted(restore(), signal));
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

/** Makes an error of the mirror a Failure, which tells it from those of Redis. */
function readMirror<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (thrown) {
    throw asFailure(thrown);
  }
}
