/**
 * A circuit breaker between the queue and Redis. The first error pauses the worker, since BullMQ would repeat a refused command at
 * once, for ever. Trials, ever less often, find out when Redis takes writes again.
 */

import { doubledMs } from '../backoff.ts';
import { type Clock, isoTime, type Random } from '../clock.ts';
import { toError } from '../errors.ts';
import type { Log } from '../log.ts';
import { diagnose, type RedisProblem, saysMore } from '../redis.ts';

/** Why runs wait, for as long as they do. */
export type Outage = RedisProblem & {
  /** When the first error came, ISO 8601 UTC. */
  since: string;
  errors: number;
};

type Breaker = {
  /** Counts the error; the first of an outage pauses the worker. */
  report(error: Error): void;
  /** Null where all is well. */
  outage(): Outage | null;
  /** Tries no more and logs no more. */
  close(): void;
};

/** Milliseconds. */
export type BreakerTiming = {
  /** Before the first trial; each later one waits twice as long. */
  firstTrial: number;
  longestTrial: number;
  /** The outage is over when no error comes for so long after a trial. */
  steady: number;
  /** Between two lines of the log. */
  quiet: number;
  /** Between two reminders of an outage. */
  remind: number;
};

const defaults: BreakerTiming = {
  firstTrial: 500,
  longestTrial: 5_000,
  steady: 2_000,
  quiet: 10_000,
  remind: 600_000,
};

export function createBreaker(parts: {
  /** Where it is, without credentials. */
  redis: string;
  /** @throws what keeps Redis from taking writes. */
  trial: () => Promise<void>;
  pause: () => void;
  resume: () => void;
  /** Gets the outage when it begins and after each trial, and null at its end. */
  changed: (outage: Outage | null) => void;
  log: Log;
  clock: Clock;
  random: Random;
  timing: Partial<BreakerTiming>;
}): Breaker {
  const { redis, trial, pause, resume, changed, log, clock, random } = parts;
  const timing = { ...defaults, ...parts.timing };
  const closing = new AbortController();
  const { signal } = closing;
  const write = oneLineEvery(timing.quiet, clock, signal);
  let outage: Outage | null = null;
  let beganAt = 0;
  let loggedAt = 0;

  const sleep = (ms: number) => clock.sleep(ms, signal).catch(() => undefined);
  const secondsSince = (at: number) => Math.round((clock.monotonic() - at) / 1_000);

  function report(error: Error): void {
    if (signal.aborted) return;
    const problem = diagnose(error);
    const isNew = outage === null;
    if (isNew) beganAt = clock.monotonic();
    if (!outage || saysMore(problem, outage)) {
      outage = { since: isoTime(clock.now()), errors: 0, ...outage, ...problem };
      logBegin(problem, error);
    }
    outage.errors += 1;
    pause();
    if (!isNew) return;
    changed(outage);
    void tryUntilWell();
  }

  async function tryUntilWell(): Promise<void> {
    for (let attempt = 1; outage && !signal.aborted; attempt += 1) {
      const waitMs = doubledMs(attempt, { firstMs: timing.firstTrial, longestMs: timing.longestTrial });
      await sleep(waitMs * (0.75 + random() / 2));
      const isWell = !signal.aborted && (await isWellOnTrial());
      if (signal.aborted) return;
      if (!isWell) remind(outage);
      else outage = end(outage);
      changed(outage);
    }
  }

  /** The worker resumes before the outage is over: Redis may refuse its commands, though not the trial. */
  async function isWellOnTrial(): Promise<boolean> {
    try {
      await trial();
    } catch (thrown) {
      report(toError(thrown));
      return false;
    }
    const errors = outage?.errors;
    resume();
    await sleep(timing.steady);
    return outage?.errors === errors;
  }

  function end({ code, errors }: Outage): null {
    const seconds = secondsSince(beganAt);
    write(() => log.info({ redis, reason: code, seconds, errors }, 'Redis is back: runs go on'));
    return null;
  }

  function logBegin({ code, message, advice }: RedisProblem, { message: err }: Error): void {
    loggedAt = clock.monotonic();
    write(() => log.warn({ redis, reason: code, err }, `${message}, so runs wait: ${advice}`));
  }

  function remind({ code, message, errors }: Outage): void {
    if (clock.monotonic() - loggedAt < timing.remind) return;
    loggedAt = clock.monotonic();
    const seconds = secondsSince(beganAt);
    write(() => log.warn({ redis, reason: code, seconds, errors }, `${message}, so runs still wait`));
  }

  return { report, outage: () => outage, close: () => closing.abort() };
}

/** Writes one line in `quietMs` at most: of several, the last. */
function oneLineEvery(quietMs: number, clock: Clock, signal: AbortSignal): (write: () => void) => void {
  let latest: (() => void) | undefined;
  let isQuiet = false;
  async function writeLatest(): Promise<void> {
    isQuiet = true;
    for (; latest && !signal.aborted; await clock.sleep(quietMs, signal).catch(() => undefined)) {
      const write = latest;
      latest = undefined;
      write();
    }
    isQuiet = false;
  }
  return (write) => {
    latest = write;
    if (!isQuiet) void writeLatest();
  };
}
