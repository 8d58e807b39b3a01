/** What every queue and worker of ours is opened with. */

import type { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Clock } from '../clock.ts';
import { isConnectionError } from '../redis.ts';
import type { Log } from './log.ts';

export type Base = {
  connection: Redis;
  prefix: string;
  skipVersionCheck: boolean;
  streams: { events: { maxLen: number } };
};

/** What each of our queues and workers is given. */
export type Context = { base: Base; report: (error: Error) => void; log: Log; clock: Clock };

/** Nobody reads the event streams but a dashboard: keep them short. */
const EVENTS_KEPT = 1_000;

/** Settles what to tell BullMQ of the Redis behind `connection`, and warns where it may evict our keys. */
export async function openBase(connection: Redis, prefix: string, log: Log): Promise<Base> {
  const memory = await connection.info('memory').catch(() => ''); // Some hosts forbid it.
  const policy = /maxmemory_policy:(\S+)/.exec(memory)?.[1];
  const evicts = policy !== 'noeviction';
  if (evicts)
    log.warn(
      { reason: policy ?? 'unknown' },
      'this Redis may evict jobs: set its maxmemory-policy to noeviction',
    );
  // BullMQ prints the same warning to the console, once a connection. Without its check of the version it
  // rounds waits up to whole seconds, so the check stays where there is nothing to print.
  return { connection, prefix, skipVersionCheck: evicts, streams: { events: { maxLen: EVENTS_KEPT } } };
}

/** An `error` listener: without one, an error of a queue would end the process. */
export function listenerOf(report: (error: Error) => void): (error: Error) => void {
  return (error) => {
    if (!isConnectionError(error) && !isOfLostRun(error)) report(error);
  };
}

/** True for what follows from a run that Redis has lost or handed back: no trouble, for who needs to know is told. */
function isOfLostRun(error: Error): boolean {
  return /could not renew lock|^Missing (lock|key) for job|is not in the active state/.test(error.message);
}

/** The loop in which a worker takes jobs. It rests while Redis takes no writes. */
export type Loop = {
  /** Takes no more; what is under way goes on. */
  pause(): void;
  /** Goes on, also where its loop has ended. */
  resume(): void;
  /** False where its loop has ended although nobody made it rest. */
  isAlive(): boolean;
};

export function loopOf(worker: Worker): Loop {
  return {
    pause: () => void worker.pause(true),
    resume: () => void worker.resume(),
    isAlive: () => worker.isRunning() || worker.isPaused(),
  };
}

/**
 * We are alone with this prefix: what is active and not under way here was taken up by a process that is dead, or
 * while Redis took no writes. Redis may learn only now that one of them has ended: that one needs no taking back.
 */
export async function takeBack(
  queue: Queue,
  isUnderWay: (id: string) => boolean = () => false,
): Promise<void> {
  for (const orphan of await queue.getActive())
    if (!isUnderWay(orphan.id ?? ''))
      await orphan.moveToWait().catch((error: Error) => {
        if (!isOfLostRun(error)) throw error;
      });
}
