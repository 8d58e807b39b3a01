/**
 * What calls asked ahead of their turn cost. Such a call is a guess that it will be needed. A stake is put on each, which
 * counts as wasted until the guess proves right: so no crash forgets what was wasted.
 */

import { DAY_MS } from '../clock.ts';

export type Ahead = {
  /** Calls that were made, and stakes that have not come back. Both fade: after a day a third is left. */
  calls: number;
  wasted: number;
  asOfAt: number;
};

/** So much of the calls of a day may be wasted. */
const MOST_WASTED = 0.01;

export function initialAhead(): Ahead {
  return { calls: 0, wasted: 0, asOfAt: 0 };
}

/** A call was made. */
export function countCall(ahead: Ahead, now: number): void {
  fade(ahead, now);
  ahead.calls += 1;
}

/** Gives as many stakes as are wanted and may be wasted. */
export function giveStakes(ahead: Ahead, wanted: number, now: number): number {
  fade(ahead, now);
  const given = Math.max(0, Math.floor(Math.min(wanted, MOST_WASTED * ahead.calls - ahead.wasted)));
  ahead.wasted += given;
  return given;
}

/** Stakes come back: their guesses proved right, or were never made. */
export function takeStakesBack(ahead: Ahead, stakes: number, now: number): void {
  fade(ahead, now);
  ahead.wasted = Math.max(0, ahead.wasted - stakes);
}

function fade(ahead: Ahead, now: number): void {
  const part = Math.exp(-Math.max(0, now - ahead.asOfAt) / DAY_MS);
  ahead.calls *= part;
  ahead.wasted *= part;
  ahead.asOfAt = now;
}
