/** What every queue and worker of ours is opened with. */

import type { Redis } from 'ioredis';
import { isConnectionError } from './connection.ts';
import type { Log } from './log.ts';

export type Base = {
  connection: Redis;
  prefix: string;
  skipVersionCheck: boolean;
  streams: { events: { maxLen: number } };
};

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
export function reportTo(log: Log): (error: Error) => void {
  return (error) => {
    if (!isConnectionError(error)) log.warn({ err: error.message }, 'a step of the queue failed');
  };
}
