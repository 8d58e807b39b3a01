/**
 * A circuit breaker between the queue and Redis. The first error opens it: the workers rest, since BullMQ's loop
 * would try again at once, for ever. A trial, ever less often, finds out when Redis takes writes again.
 */

import { doubledMs } from '../backoff.ts';
import { type Clock, isoTime, type Random } from '../clock.ts';
import { toError } from '../errors.ts';
import { diagnose, type RedisProblem, saysMore } from '../redis.ts';
import type { Log } from './log.ts';

/** Why runs wait, for as long as they do. */
export type Outage = RedisProblem & {
  /** When the first error came, ISO 8601 UTC. */
  since: string;
  /** How many there were until now. */
  errors: number;
};

export type Breaker = {
  /** Counts the error; the first of an outage stops the workers. */
  report(error: Error): void;
  /** Null where all is well. */
  outage(): Outage | null;
  /** Looks no more and says no more. */
  close(): void;
};

/** Milliseconds. */
export type BreakerTiming = {
  /** Before the first trial; each later one waits twice as long. */
  firstTrial: number;
  longestTrial: number;
  /** Without an error for so long after a trial, all is well. */
  steady: number;
  /** Between two lines of the log. */
  quiet: number;
  /** Between two reminders of an outage that goes on. */
  remind: number;
};

const defaults: BreakerTiming = {
  firstTrial: 500,
  longestTrial: 5_000,
  steady: 2_000,
  quiet: 10_000,
  remind: 600_000,
};

export type BreakerParts = {
  /** Where it is, without credentials. */
  redis: string;
  /** @throws what keeps Redis from taking writes. */
  trial: () => Promise<void>;
  pause: () => void;
  resume: () => void;
  /** Told of an outage when it begins and whenever it was looked at, and of its end by null. */
  changed: (outage: Outage | null) => void;
  log: Log;
  clock: Clock;
  random: Random;
  timing: Partial<BreakerTiming>;
};

export function createBreaker(parts: BreakerParts): Breaker {
  const { redis, trial, pause, resume, changed, log, clock, random, timing } = parts;
  const { firstTrial, longestTrial, steady, quiet, remind } = { ...defaults, ...timing };
  const closing = new AbortController();
  const say = lineEvery(quiet, clock, closing.signal);
  let outage: Outage | null = null;
  let began = 0;
  let said = 0;
  /** Whether the workers are at work again, although the outage is not over before they have been so for a while. */
  let halfOpen = false;

  function report(error: Error): void {
    if (closing.signal.aborted) return;
    const trouble = diagnose(error);
    if (!outage) {
      began = clock.monotonic();
      outage = { ...trouble, since: isoTime(clock.now()), errors: 1 };
      tell(trouble, error);
      pause();
      changed(outage);
      void tryUntilWell();
      return;
    }
    outage.errors += 1;
    if (saysMore(trouble, outage)) {
      Object.assign(outage, trouble);
      tell(trouble, error);
    }
    halfOpen = false;
    pause();
  }

  async function tryUntilWell(): Promise<void> {
    for (let attempt = 1; outage; attempt += 1) {
      const wait = doubledMs(attempt, { firstMs: firstTrial, longestMs: longestTrial });
      await clock.sleep(wait * (0.75 + random() / 2), closing.signal).catch(() => undefined);
      if (closing.signal.aborted) return;
      try {
        await trial();
      } catch (thrown) {
        report(toError(thrown));
        remindOf(outage);
        changed(outage);
        continue;
      }
      halfOpen = true;
      resume();
      await clock.sleep(steady, closing.signal).catch(() => undefined);
      if (closing.signal.aborted) return;
      if (halfOpen) end(outage);
      else changed(outage);
    }
  }

  function end({ code, errors }: Outage): void {
    const seconds = secondsSince(began);
    outage = null;
    halfOpen = false;
    changed(null);
    say(() => log.info({ redis, reason: code, seconds, errors }, 'Redis is back: runs go on'));
  }

  function tell({ code, message, advice }: RedisProblem, error: Error): void {
    said = clock.monotonic();
    const err = error.message;
    say(() => log.warn({ redis, reason: code, err }, `${message}, so runs wait: ${advice}`));
  }

  function remindOf({ code, message, errors }: Outage): void {
    if (clock.monotonic() - said < remind) return;
    said = clock.monotonic();
    const seconds = secondsSince(began);
    say(() => log.warn({ redis, reason: code, seconds, errors }, `${message}, so runs still wait`));
  }

  const secondsSince = (at: number) => Math.round((clock.monotonic() - at) / 1_000);

  return { report, outage: () => outage, close: () => closing.abort() };
}

/** Writes at most one line in `quietMs`; of those that come in between only the last, when its time has come. */
function lineEvery(quietMs: number, clock: Clock, signal: AbortSignal): (write: () => void) => void {
  let latest: (() => void) | undefined;
  let resting = false;
  const writeAll = async () => {
    resting = true;
    while (latest && !signal.aborted) {
      const write = latest;
      latest = undefined;
      write();
      await clock.sleep(quietMs, signal).catch(() => undefined);
    }
    resting = false;
  };
  return (write) => {
    latest = write;
    if (!resting) void writeAll();
  };
}
