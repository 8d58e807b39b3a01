/**
 * Notifies systemd that the daemon is ready, alive (see `Pulse`) and stopping, by its program `systemd-notify`, since Node.js lacks
 * the kind of socket (the unit needs NotifyAccess=all).
 */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Clock } from '../clock.ts';
import { toError } from '../errors.ts';
import type { Log } from '../log.ts';

type ServiceManager = {
  /** @param isWell called before each message to the watchdog; without messages systemd restarts the daemon. */
  ready(status: string, isWell: () => boolean): Promise<void>;
  stopping(): Promise<void>;
};

type Parts = {
  environment: Record<string, string | undefined>;
  log: Log;
  clock: Clock;
};

const NOTIFY_MS = 10_000;
/** A daemon that stops has ten seconds for all of it. */
const LAST_NOTIFY_MS = 1_000;

/** Notifies nobody where the daemon does not run under systemd, or not with Type=notify. */
export function serviceManager({ environment, log, clock }: Parts): ServiceManager {
  const stopped = new AbortController();
  let watching: Promise<void> | undefined;
  return {
    async ready(status, isWell) {
      await notify(['READY=1', `STATUS=${status}`], { signal: stopped.signal });
      const period = watchdogMs(environment);
      if (period !== undefined) watching = watch(period / 2, isWell);
    },
    async stopping() {
      stopped.abort();
      await watching;
      await notify(['STOPPING=1'], { timeout: LAST_NOTIFY_MS });
    },
  };

  async function watch(everyMs: number, isWell: () => boolean): Promise<void> {
    while (!stopped.signal.aborted) {
      if (isWell()) await notify(['WATCHDOG=1'], { signal: stopped.signal });
      await clock.sleep(everyMs, stopped.signal).catch(() => undefined);
    }
  }

  async function notify(facts: string[], options: { timeout?: number; signal?: AbortSignal }): Promise<void> {
    const { NOTIFY_SOCKET, PATH } = environment;
    if (!NOTIFY_SOCKET) return;
    try {
      // Nothing else of our environment: the API key may be in it.
      const env = { NOTIFY_SOCKET, PATH };
      await promisify(execFile)('systemd-notify', facts, { env, timeout: NOTIFY_MS, ...options });
    } catch (thrown) {
      if (!options.signal?.aborted)
        log.warn({ err: toError(thrown).message }, 'systemd could not be told how the daemon is');
    }
  }
}

/** How long systemd waits for a sign of life; undefined where it does not. */
function watchdogMs({
  NOTIFY_SOCKET,
  WATCHDOG_USEC,
  WATCHDOG_PID,
}: Parts['environment']): number | undefined {
  const isMeant = NOTIFY_SOCKET && (!WATCHDOG_PID || Number(WATCHDOG_PID) === process.pid);
  const period = Number(WATCHDOG_USEC) / 1_000;
  return isMeant && period > 0 ? period : undefined;
}

/** Signs of life of the runs: one that shows none for long hangs, and only a restart helps. */
export type Pulse = {
  /** A run began, or saved a page. */
  beat(job: string): void;
  /** It ended, however it did. */
  end(job: string): void;
  /** The runs that have been silent for too long. */
  silent(): string[];
};

/** With a permit, calls are repeated for some minutes at most; a longer wait ends the run. */
const TOO_LONG_MS = 15 * 60_000;

/**
 * @param waits whether a run waits for a permit: others may go first for hours, so that alone is no silence.
 * @param now milliseconds of a clock that nobody sets.
 */
export function createPulse(waits: (job: string) => boolean, now: () => number): Pulse {
  const heard = new Map<string, number>();
  let last = now();
  const isLongAgo = (at: number) => now() - at > TOO_LONG_MS;
  return {
    beat(job) {
      last = now();
      heard.set(job, last);
    },
    end: (job) => void heard.delete(job),
    silent: () =>
      [...heard].filter(([job, at]) => isLongAgo(at) && (isLongAgo(last) || !waits(job))).map(([job]) => job),
  };
}
