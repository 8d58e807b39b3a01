/** Empties the write-ahead log whenever no run is under way, and tells once of a reader that keeps it growing. */

import { toError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/index.ts';
import { LONG_LOG_BYTES } from '../store/read.ts';

export type LogKeeper = {
  /** Runs `work`. */
  during(work: () => Promise<void>): Promise<void>;
};

export function createLogKeeper(store: Pick<Store, 'emptyLog' | 'logBytes'>, log: Log): LogKeeper {
  let underWay = 0;
  let isLong = false;

  function look(): void {
    if (underWay === 0) store.emptyLog();
    const bytes = store.logBytes();
    const wasLong = isLong;
    isLong = bytes > LONG_LOG_BYTES;
    if (isLong && !wasLong)
      log.warn(
        { bytes },
        'the write-ahead log has grown long: a reader at work for long keeps it from being emptied; end its query or transaction',
      );
    if (wasLong && !isLong) log.info({ bytes }, 'the write-ahead log is short again');
  }

  return {
    async during(work) {
      underWay += 1;
      try {
        await work();
      } finally {
        underWay -= 1;
        try {
          look();
        } catch (thrown) {
          log.warn({}, `the write-ahead log could not be emptied: ${toError(thrown).message}`);
        }
      }
    },
  };
}
