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
  let since: string | undefined;
  let said = '';
  return {
    over() {
      const was = since !== undefined;
      [since, said] = [undefined, ''];
      note(null);
      return was;
    },
    failed({ message, isHopeless }, failures) {
      const waitMs = isHopeless ? pauses.hopelessMs : backoffMs(failures, pauses, random());
      const at = clock.now();
      since ??= isoTime(at);
      const nextTry = isoTime(at + waitMs);
      note({ message, since, nextTry });
      if (message !== said) say(message, nextTry);
      said = message;
      return waitMs;
    },
  };
}
