/** The thread that ships for the daemon: mirroring never waits for it, and it may end at any moment. */

import type { ShipAddress } from '../../config.ts';
import type { AskedOfTarget, SaidByTarget } from '../../targets.ts';
import { startThread, type Thread, threadOnDemand } from '../../thread.ts';

export type ShipperParts = { dir: string; address: ShipAddress };

export function shipThread(parts: ShipperParts): Thread<AskedOfTarget, SaidByTarget> {
  return threadOnDemand(() => startThread('worker', import.meta.url, parts), 'the thread that ships');
}
