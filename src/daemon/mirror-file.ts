/** Watches the mirror's file while the daemon runs: whether it is still the opened one, and how long its log is. */

import { Snooze, toError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { LONG_LOG_BYTES } from '../store/read.ts';
import type { Store } from '../store.ts';

export type MirrorFile = {
  /** Aborted with a Failure when the file is gone or replaced: what is written to it would be lost. */
  gone: AbortSignal;
  isHere(): boolean;
  /** Runs `work`, and empties the write-ahead log once no run is under way. @throws Snooze `shutdown` where the file is gone. */
  during(work: () => Promise<void>): Promise<void>;
  /** @throws Failure `disk` where the file is gone. */
  ifHere<T>(work: () => T): T;
};

type Parts = {
  store: Pick<Store, 'lost' | 'emptyLog' | 'logBytes'>;
  log: Log;
  clock: { now(): number };
};

export function watchMirrorFile({ store, log, clock }: Parts): MirrorFile {
  const ending = new AbortController();
  const keepLogShort = logKeeper(store, log);
  let underWay = 0;

  const isHere = () => {
    const loss = store.lost();
    if (loss) ending.abort(loss);
    return !loss;
  };
  const stopUnlessHere = () => {
    if (!isHere()) throw new Snooze(clock.now(), 'shutdown');
  };

  return {
    gone: ending.signal,
    isHere,
    async during(work) {
      stopUnlessHere();
      underWay += 1;
      try {
        await work();
      } finally {
        underWay -= 1;
        await keepLogShort(underWay === 0);
        // Instead of the error of the work, which mostly has the same cause.
        stopUnlessHere();
      }
    },
    ifHere(work) {
      if (!isHere()) throw ending.signal.reason;
      return work();
    },
  };
}

/** Returns what empties the write-ahead log where possible, and logs once that a long reader lets it grow. */
function logKeeper(store: Parts['store'], log: Log): (isIdle: boolean) => Promise<void> {
  let isLong = false;
  return async (isIdle) => {
    try {
      if (isIdle) await store.emptyLog();
      const bytes = store.logBytes();
      const wasLong = isLong;
      isLong = bytes > LONG_LOG_BYTES;
      if (isLong && !wasLong)
        log.warn(
          { bytes },
          'the write-ahead log has grown long: a reader at work for long keeps it from being emptied; end its query or transaction',
        );
      if (wasLong && !isLong) log.info({ bytes }, 'the write-ahead log is short again');
    } catch (thrown) {
      log.warn({}, `the write-ahead log could not be emptied: ${toError(thrown).message}`);
    }
  };
}
