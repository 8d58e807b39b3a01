/** The mirror's own copy of what was last seen of the account: for its readers, and for a Redis that has lost it. */

import type { Clock } from '../clock.ts';
import { moved, readState, type State, type StateCopy } from '../governor/state.ts';

/** Where the mirror keeps it. */
export type CopyStore = { read(): unknown; keep(copy: StateCopy): void };

/** Readers look at most so often, and a write for each change would be dear. */
const EVERY_MS = 1_000;

export function createCopy(store: CopyStore, account: string, clock: Clock) {
  let latest: StateCopy | undefined;
  let keptAt = Number.NEGATIVE_INFINITY;
  let cancel: (() => void) | undefined;

  function keep(): void {
    cancel?.();
    cancel = undefined;
    if (!latest) return;
    try {
      store.keep(latest);
    } catch {
      // Whatever keeps it from being written is told by the mirror, which writes all the time.
    }
    latest = undefined;
    keptAt = clock.monotonic();
  }

  return {
    /**
     * What was known here of this account, or before there was one, with its times by a clock that says `now`. Who holds permits
     * may have given them back since, and says so when it asks.
     */
    seed(now: number): State | undefined {
      const copy = store.read() as Partial<StateCopy> | null | undefined;
      if (!copy || (copy.account && copy.account.name !== account)) return undefined;
      return { ...moved(readState(copy), now - clock.now()), leases: {} };
    },

    /** Notes the state as it was seen when that clock said `now`. */
    note(state: State, processes: number, now: number): void {
      const at = clock.now();
      latest = { ...moved(state, at - now), account: { name: account, processes, heardAt: at } };
      if (clock.monotonic() - keptAt >= EVERY_MS) keep();
      else cancel ??= clock.after(EVERY_MS, keep);
    },

    close: keep,
  };
}
