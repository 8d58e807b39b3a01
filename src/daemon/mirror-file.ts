/** The mirror's file while the daemon runs: whether it is still the one that was opened, and how long its log grows. */

import { Snooze, toError } from '../errors.ts';
import type { Log } from '../log.ts';
import { LONG_LOG_BYTES } from '../store/read.ts';
import type { Store } from '../store.ts';

type MirrorFile = {
  /** Aborted with the Failure to end with, once the file was found gone or replaced: what is written to it is lost. */
  gone: AbortSignal;
  isHere(): boolean;
  /**
   * Runs `work` while the file is here, and empties the write-ahead log once no run is under way.
   * @throws Snooze `shutdown` where the file is gone, since the daemon then ends.
   */
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
        // Instead of what the work threw, which mostly has the same cause.
        stopUnlessHere();
      }
    },
    ifHere(work) {
      if (!isHere()) throw ending.signal.reason;
      return work();
    },
  };
}

/** Empties the write-ahead log where that is possible; a reader that keeps it growing is logged once. */
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
