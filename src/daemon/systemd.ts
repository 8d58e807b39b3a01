/**
 * What systemd is told: that the daemon is ready, is well, and stops. By its program `systemd-notify`, since Node.js lacks the kind of
 * socket (the unit needs NotifyAccess=all). A run without a sign of life for long hangs, and only a restart helps.
 */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { toError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';

type Parts = {
  environment: Record<string, string | undefined>;
  log: Log;
  /** How long the program may take: a daemon that stops has ten seconds for all of it. */
  answerMs?: number;
};

/** Notifies nobody where the daemon does not run under systemd, or not with Type=notify. */
export function systemdNotifier({ environment, log, answerMs = 2_000 }: Parts) {
  const { NOTIFY_SOCKET, PATH, WATCHDOG_USEC, WATCHDOG_PID = process.pid } = environment;
  const watchdogMs = Number(WATCHDOG_PID) === process.pid ? Number(WATCHDOG_USEC) / 1_000 : 0;
  let watchdog: NodeJS.Timeout | undefined;
  let told: Promise<void> = Promise.resolve();

  /** One after the other: a message that another overtakes would be told last. Never rejects. */
  function notify(...facts: string[]): Promise<void> {
    told = told.then(() => send(facts));
    return told;
  }

  async function send(facts: string[]): Promise<void> {
    if (!NOTIFY_SOCKET) return;
    try {
      // Nothing else of our environment: the API key may be in it.
      await promisify(execFile)('systemd-notify', facts, { env: { NOTIFY_SOCKET, PATH }, timeout: answerMs });
    } catch (thrown) {
      log.warn({ err: toError(thrown).message }, 'systemd could not be told how the daemon is');
    }
  }

  return {
    /** @param isWell asked before each message to the watchdog; without messages systemd restarts the daemon. */
    ready(status: string, isWell: () => boolean): void {
      void notify('READY=1', `STATUS=${status}`);
      const beat = () => void (isWell() && notify('WATCHDOG=1'));
      if (watchdogMs > 0) watchdog = setInterval(beat, watchdogMs / 2);
    },
    async stopping(): Promise<void> {
      clearInterval(watchdog);
      await notify('STOPPING=1');
    },
  };
}

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
