/** A daemon within this process, and what it logs. */

import pino from 'pino';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { type DaemonParts, runDaemon } from '../../src/daemon.ts';

type LogLine = { level: number; msg: string; job?: string; seconds?: number; err?: string; reason?: string };

/** Runs until the test has ended, or before that until `stop` is called; a daemon that fails fails the test. */
export function daemonHere(
  environment: DaemonParts['environment'],
  parts: Partial<Pick<DaemonParts, 'clock' | 'random' | 'ended'>> = {},
) {
  const lines: LogLine[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const ending = new AbortController();
  const daemon = runDaemon(
    { environment, clock: systemClock, random: Math.random, log, ...parts },
    ending.signal,
  );
  const stop = async () => {
    ending.abort();
    await daemon;
  };
  onTestFinished(stop);
  return { lines, stop };
}
