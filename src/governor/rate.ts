/** How fast calls may follow one another, and what is known of the pace that lasts. */

export type Rate = {
  /** The pace now, in calls a second. */
  perSecond: number;
  /** When the next call is due at this pace. */
  freeAt: number;
  /** Bounds of the pace that lasts, in calls a second; `most` is null until the API throttled to one. */
  least: number;
  most: number | null;
  /** Accepted since the API throttled, with the seconds of waiting that followed; or since a rest (`null`). */
  span: Span & { recovery: number | null };
  /** Accepted at a pace above `least`. */
  trial: Span | null;
  /**
   * What was accepted before the first throttle: with the bounds it tells how much comes on top at once.
   * And the longest recovery from any.
   */
  opening: { calls: number; seconds: number; recovery: number } | null;
  /** Calls accepted at the settled pace, and how many of them warrant the trial of a faster one. */
  calm: number;
  patience: number;
  /** Calls under way that came as soon as the pace allowed them. */
  pressing: number;
};

export type Span = { sinceAt: number; calls: number };

/** Calls a second: slow enough for any API of which nothing is known. */
const FIRST_PACE = 4;
/** Bounds so close need no trial between them. */
const CLOSE = 1.08;
/** A recovery beyond this is that of a window, of which the common ones last ten seconds or a minute. */
export const LONG_RECOVERY_MS = 5_000;
/** Calls at a settled pace before a faster one is tried. */
const FIRST_PATIENCE = 400;
/** A rest this long may have refilled what the API allows at once. */
const REST_MS = 5_000;

export function initialRate(): Rate {
  return {
    perSecond: FIRST_PACE,
    freeAt: 0,
    least: 0,
    most: null,
    span: { sinceAt: 0, calls: 0, recovery: null },
    trial: null,
    opening: null,
    calm: 0,
    patience: FIRST_PATIENCE,
    pressing: 0,
  };
}

/** Calls that may be allowed at once without leaving the pace noticeably. */
export function blockSize({ perSecond, opening }: Rate): number {
  return Math.max(1, Math.min(10, Math.floor(perSecond * (opening ? 0.05 : 0.25))));
}

/** `calls` begin now. */
export function takeSlots(rate: Rate, calls: number, now: number): Rate {
  const late = now - rate.freeAt;
  const slotMs = 1_000 / rate.perSecond;
  const taken = { ...rate, freeAt: Math.max(now, rate.freeAt) + calls * slotMs };
  if (late <= REST_MS + slotMs) return { ...taken, pressing: late < slotMs ? rate.pressing + calls : 0 };
  return rested(taken, now);
}

/** What is being measured begins at `now`: a rest, or a clock that was set, lies between it and what was before. */
export function rested(rate: Rate, now: number): Rate {
  const trial = rate.trial && { sinceAt: now, calls: 0 };
  return { ...rate, span: { sinceAt: now, calls: 0, recovery: null }, trial, pressing: 0 };
}

/** `calls` that had their slots were not made. */
export function giveBackSlots(rate: Rate, calls: number, now: number): Rate {
  return {
    ...rate,
    freeAt: Math.max(now, rate.freeAt - (calls * 1_000) / rate.perSecond),
    pressing: Math.max(0, rate.pressing - calls),
  };
}

/** Calls waited for quota, and not for the pace: a faster one would have been of no use. */
export function wasFastEnough(rate: Rate): Rate {
  return { ...rate, calm: 0 };
}

/** Whether the pace is known, and what exceeds it is forgiven soon. */
export function forgivesSoon(rate: Rate): boolean {
  return isSettled(rate) && !comesRarely(rate);
}

/** Whether what was refused took long to come back: allowance comes in rare large portions. */
export function comesRarely(rate: Rate): boolean {
  return rate.opening !== null && rate.opening.recovery > LONG_RECOVERY_MS / 1_000;
}

/**
 * How long a recovery from a throttle at `now` may take, and the longest that did, in milliseconds. What comes
 * in rare portions comes again after the longest; else it was asked for as much too soon as the pace is too fast.
 */
export function recoveries(rate: Rate, now: number): { soon: number; longest: number } {
  const { span, opening, least, perSecond } = rate;
  const longest = 1_000 * (opening?.recovery ?? 0);
  if (!comesRarely(rate)) return { soon: longest / 4, longest };
  const again = span.sinceAt + 1_000 * (span.recovery ?? 0) + longest;
  if (again > now) return { soon: again - now, longest };
  return { soon: Math.min(15_000, longest * (1 - least / perSecond)), longest };
}

/** Whether the pace that lasts is known, and kept. */
export function hasSettled(rate: Rate): boolean {
  return isSettled(rate) && rate.trial === null;
}

export function isSettled({ least, most }: Pick<Rate, 'least' | 'most'>): boolean {
  return most !== null && most <= CLOSE * least;
}
