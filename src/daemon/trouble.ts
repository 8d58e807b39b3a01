/** What keeps a part of the daemon from its work: noted for those who ask, told once, and tried again after growing pauses. */

import { type Pauses as Backoff, backoffMs } from '../backoff.ts';
import { type Clock, isoTime, type Random } from '../clock.ts';
import type { Trouble } from '../reading/status.ts';

export type Pauses = Backoff & {
  /** After a wrong setting or command line: somebody has to mend that first. */
  hopelessMs: number;
};

export const usualPauses: Pauses = { firstMs: 1_000, longestMs: 60_000, hopelessMs: 600_000 };

export type Troubled = {
  /** It is noted again as it is: something else has moved on. */
  remains(): void;
  /** It works again. @returns whether it did not. */
  over(): boolean;
  /** @param failures in a row, with this one. @returns how many milliseconds to wait before it is tried again. */
  failed(why: { message: string; isHopeless: boolean }, failures: number): number;
};

export type TroubledParts = {
  clock: Clock;
  random: Random;
  pauses: Pauses;
  /** Told what is wrong, and null once it is over. */
  note: (trouble: Trouble | null) => void;
  /** Told of what is wrong now and was not before. */
  say: (message: string, nextTry: string) => void;
};

export function troubled({ clock, random, pauses, note, say }: TroubledParts): Troubled {
  let present: Trouble | null = null;
  let said = '';
  return {
    remains: () => note(present),
    over() {
      const was = present !== null;
      [present, said] = [null, ''];
      note(null);
      return was;
    },
    failed({ message, isHopeless }, failures) {
      const waitMs = isHopeless ? pauses.hopelessMs : backoffMs(failures, pauses, random());
      const at = clock.now();
      const nextTry = isoTime(at + waitMs);
      present = { message, since: present?.since ?? isoTime(at), nextTry };
      note(present);
      if (message !== said) say(message, nextTry);
      said = message;
      return waitMs;
    },
  };
}
