/** The thread that ships for the daemon: mirroring never waits for it, and it may end at any moment. */

import type { ShipAddress } from '../config.ts';
import { startThread, type Thread, threadOnDemand } from '../thread.ts';
import type { Outcome } from './dataset.ts';

export type AskedOfShipper = { only: readonly string[]; now: number };

export type SaidByShipper = { outcomes: Outcome[] };

export type ShipperParts = { dir: string; address: ShipAddress };

export function shipThread(parts: ShipperParts): Thread<AskedOfShipper, SaidByShipper> {
  return threadOnDemand(() => startThread('worker', import.meta.url, parts), 'the thread that ships');
}
