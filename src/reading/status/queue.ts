/** Why the runs of a daemon wait, as it notes beside its lock. */

import type { Outage } from '../../queue/index.ts';
import { holderNote } from '../../store/read.ts';

export type QueueOutage = Outage;

/** A note may be read in the middle of being written, which takes microseconds. */
const TRIES = 3;

/** Null where they do not, and where no daemon lives. */
export function queueOutage(dir: string): QueueOutage | null {
  for (let left = TRIES; left > 0; left -= 1) {
    const note = holderNote(dir, 'daemon');
    if (note === null) return null;
    try {
      return JSON.parse(note) as Outage;
    } catch {}
  }
  return null;
}
