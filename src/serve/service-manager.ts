/**
 * What systemd is told of the daemon: that it is ready, that it is alive, that it is stopping. Node has no sockets of
 * the kind that systemd listens on, so systemd's own `systemd-notify` speaks for us (the unit needs NotifyAccess=all).
 */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Clock } from '../clock.ts';
import { toError } from '../errors.ts';
import type { Log } from '../log.ts';

export type ServiceManager = {
  /** @param isWell asked before the watchdog is told that all is well; where it is not, systemd restarts the daemon. */
  ready(status: string, isWell: () => boolean): Promise<void>;
  stopping(): Promise<void>;
};

type Parts = {
  environment: Record<string, string | undefined>;
  log: Log;
  clock: Clock;
};

const TELLING_MS = 10_000;

/** Tells nobody where the daemon does not run under systemd, or not with Type=notify. */
export function serviceManager({ environment, log, clock }: Parts): ServiceManager {
  const stopped = new AbortController();
  let watching: Promise<void> | undefined;
  return {
    async ready(status, isWell) {
      await tell(environment, log, 'READY=1', `STATUS=${status}`);
      const period = watchdogMs(environment);
      if (period !== undefined) watching = watch(period / 2, isWell);
    },
    async stopping() {
      stopped.abort();
      await watching;
      await tell(environment, log, 'STOPPING=1');
    },
  };

  async function watch(everyMs: number, isWell: () => boolean): Promise<void> {
    while (!stopped.signal.aborted) {
      if (isWell()) await tell(environment, log, 'WATCHDOG=1');
      await clock.sleep(everyMs, stopped.signal).catch(() => undefined);
    }
  }
}

async function tell(environment: Parts['environment'], log: Log, ...facts: string[]): Promise<void> {
  const { NOTIFY_SOCKET, PATH } = environment;
  if (!NOTIFY_SOCKET) return;
  try {
    // Nothing else of our environment: the API key may be in it.
    await promisify(execFile)('systemd-notify', facts, { env: { NOTIFY_SOCKET, PATH }, timeout: TELLING_MS });
  } catch (thrown) {
    log.warn({ err: toError(thrown).message }, 'systemd could not be told how the daemon is');
  }
}

/** Within what time systemd wants to hear of this process; undefined where it does not. */
function watchdogMs({
  NOTIFY_SOCKET,
  WATCHDOG_USEC,
  WATCHDOG_PID,
}: Parts['environment']): number | undefined {
  const isMeant = NOTIFY_SOCKET && (!WATCHDOG_PID || Number(WATCHDOG_PID) === process.pid);
  const period = Number(WATCHDOG_USEC) / 1_000;
  return isMeant && period > 0 ? period : undefined;
}
