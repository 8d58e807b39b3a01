/** Whether the mirror is still the file that the daemon opened. What is written to one that is gone is lost. */

import { Snooze } from '../errors.ts';
import type { Store } from '../store/index.ts';

export type Presence = {
  /** Aborted with the Failure to end with, once a look has found the file gone or replaced. */
  gone: AbortSignal;
  isHere(): boolean;
  /** Runs `work` while the file is here. @throws Snooze `shutdown` where it is not, since the daemon then ends. */
  during(work: () => Promise<void>): Promise<void>;
  /** @throws Failure `disk` where the file is not here. */
  ifHere<T>(work: () => T): T;
};

export function createPresence(store: Pick<Store, 'lost'>, now: () => number): Presence {
  const ending = new AbortController();
  const isHere = () => {
    const loss = store.lost();
    if (loss) ending.abort(loss);
    return !loss;
  };
  const stop = () => {
    if (!isHere()) throw new Snooze(now(), 'shutdown');
  };
  return {
    gone: ending.signal,
    isHere,
    async during(work) {
      stop();
      await work().finally(stop);
    },
    ifHere(work) {
      if (!isHere()) throw ending.signal.reason;
      return work();
    },
  };
}
