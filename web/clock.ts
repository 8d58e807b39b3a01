/** What time it is here, and what time it is where the mirror is. */

import { type Store, store, useStore } from './store.ts';

const TICK_MS = 1_000;

/** How far the clock of the service is ahead of ours, in milliseconds. */
let aheadMs = 0;

/** By the clock of this browser, in epoch milliseconds. */
export const localNow = (): number => Date.now();

/** By the clock of the service, from which all its times and ages come. */
export const serviceNow = (): number => localNow() + aheadMs;

/** @param at what the service's clock showed a moment ago, ISO 8601. */
export function setServiceTime(at: string): void {
  aheadMs = Date.parse(at) - localNow();
  tick.set(serviceNow());
}

const tick: Store<number> = store(localNow());
setInterval(() => {
  if (!document.hidden) tick.set(serviceNow());
}, TICK_MS);

/** The service's time, each second anew. */
export const useNow = (): number => useStore(tick);
