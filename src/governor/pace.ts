/**
 * How fast calls may follow one another. The pace grows until it is throttled; then trials at one pace each enclose
 * the pace that lasts. It stays just below that one, and a faster one is tried seldom.
 */

/** All paces are in calls a second. */
export type Pace = {
  perSecond: number;
  /** When the next call is due. */
  freeAt: number;
  /** Bounds of the pace that lasts; `most` is null until the API throttled to one. */
  least: number;
  most: number | null;
  /** Accepted since the latest throttle, which took `recovery` seconds to be over; or since a rest (null). */
  span: Span & { recovery: number | null };
  /** Accepted since a pace above `least` is being tried; null where none is. */
  trial: Span | null;
  /** Accepted before the first throttle; and the longest recovery, in seconds, from any. */
  opening: Measured | null;
  /** Accepted at the settled pace, and how many of them warrant the trial of a faster one. */
  calm: number;
  patience: number;
  /** Calls under way that came as soon as the pace allowed them: only these say anything of it. */
  pressing: number;
};

type Span = { sinceAt: number; calls: number };

/** What was accepted before a throttle, and how long that took to be over. */
type Measured = { calls: number; seconds: number; recovery: number };

/** A throttle that is over: when it began, probes refused meanwhile, and milliseconds in which nobody asked. */
export type Throttle = { sinceAt: number; failures: number; idleMs: number };

/** Nothing is known of the API yet: the second call comes a tenth of a second after the first. */
const FIRST_PACE = 10;
/** More than one process can make; and a call an hour, below which it is the quota that limits. */
const FASTEST_PACE = 10_000;
const SLOWEST_PACE = 1 / 3_600;
/** By each call while nothing was throttled: ten times the pace after thirteen, 0.6 s more for a first sync. */
const GROWTH = 1.2;
/** Bounds so close need no trial between them: less than a tenth could be won. */
const CLOSE = 1.08;
/** The least step of a trial: refused, it leaves the bounds close; accepted, it soon shows. */
const NEAREST = 1.07;
/** Without an upper bound the pace grows by a quarter a trial: three trials double it. */
const STEP = 1.25;
/** Above what was refused once: a limit that rose by less is not worth another refusal. */
const HIGHER = 1.2;
/** Below what was measured, for the noise of latencies. */
const MARGIN = 0.985;
/** Seconds. The usual windows last one, ten or sixty: beyond this, allowance comes in rare large portions. */
const LONG_RECOVERY_S = 5;
/** After this rest, in milliseconds, what the API allows at once may be full again. */
const REST_MS = 5_000;
/** Calls, and seconds, at the settled pace before a faster one is tried. */
const FIRST_PATIENCE = 400;
const LEAST_PATIENCE_S = 60;
/** In calls: some hours of use, after which a limit that rose has to be found. */
const MOST_PATIENCE = 16_000;

export function initialPace(): Pace {
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

/** How many calls warrant another trial after one was refused: from 400 on, four trials in the first 16,000. */
export function afterRefusal(patience: number): number {
  return Math.min(MOST_PATIENCE, 3 * patience);
}

/** Permits that may be given at once, a transaction each time: of 0.15 s does not show, nor of 0.05 s near a limit. */
export function blockSize({ perSecond, opening }: Pace): number {
  return Math.max(1, Math.min(10, Math.floor(perSecond * (opening ? 0.05 : 0.15))));
}

/** `calls` begin now. */
export function takeSlots(pace: Pace, calls: number, now: number): void {
  const slotMs = 1_000 / pace.perSecond;
  const late = now - pace.freeAt;
  pace.freeAt = Math.max(now, pace.freeAt) + calls * slotMs;
  if (late > REST_MS + slotMs) measureAnew(pace, now);
  else pace.pressing = late < slotMs ? pace.pressing + calls : 0;
}

/** `calls` that had their slots were not made. */
export function giveBackSlots(pace: Pace, calls: number, now: number): void {
  pace.freeAt = Math.max(now, pace.freeAt - (calls * 1_000) / pace.perSecond);
  pace.pressing = Math.max(0, pace.pressing - calls);
}

/** A rest, or a clock that was set, lies between now and what was being measured. */
export function measureAnew(pace: Pace, now: number): void {
  pace.span = { sinceAt: now, calls: 0, recovery: null };
  if (pace.trial) pace.trial = { sinceAt: now, calls: 0 };
  pace.pressing = 0;
}

/** One more call was accepted. */
export function accepted(pace: Pace, now: number): void {
  const { span, trial, opening, least, most, perSecond, patience } = pace;
  span.calls += 1;
  if (trial) trial.calls += 1;
  if (pace.pressing === 0) return;
  pace.pressing -= 1;
  pace.calm += 1;
  if (!opening) grow(pace, now);
  else if (!trial) {
    if (pace.calm >= Math.max(patience, LEAST_PATIENCE_S * perSecond))
      tryPace(pace, HIGHER * (most ?? least), now);
  } else if (least === 0 && most === null) {
    if (pace.calm >= firstGuessLasts(pace, opening)) tryPace(pace, STEP * perSecond, now);
  } else if (lasts(pace, trial, now)) enclose(pace, perSecond, most, now);
}

/** The slot that has begun ends sooner, too. */
function grow(pace: Pace, now: number): void {
  pace.perSecond = Math.min(FASTEST_PACE, GROWTH * pace.perSecond);
  if (pace.freeAt > now) pace.freeAt = now + (pace.freeAt - now) / GROWTH;
}

/** Calls after which a first guess is left behind: a second's, twenty at least; of rare portions twice the first one. */
function firstGuessLasts(pace: Pace, opening: Measured): number {
  return comesRarely(pace) ? 2 * opening.calls : Math.max(20, pace.perSecond);
}

/**
 * Whether a trial brought more than the least pace explains with all that comes at once on top of it: two seconds'
 * worth, or what came before the first throttle.
 */
function lasts({ least, opening }: Pace, trial: Span, now: number): boolean {
  const atOnce = Math.max(2 * least, opening ? opening.calls - least * opening.seconds : 0);
  // Five more, since answers come in any order.
  return trial.calls > (least * (now - trial.sinceAt)) / 1_000 + atOnce + 5;
}

/** The pace was throttled, and a call is accepted again now. */
export function throttled(pace: Pace, { sinceAt, failures, idleMs }: Throttle, now: number): void {
  const { span, trial, opening } = pace;
  const recovery = (now - sinceAt - idleMs) / 1_000;
  const seconds = Math.max(0.1, (sinceAt - span.sinceAt) / 1_000);
  const measured = { calls: Math.max(1, span.calls), seconds, recovery };
  pace.freeAt = now;
  pace.span = { sinceAt: sinceAt + idleMs, calls: 0, recovery };
  pace.opening = opening ?? { ...measured };
  // Without a refused probe the wait was of our own choice.
  pace.opening.recovery = Math.max(pace.opening.recovery, failures > 0 ? recovery : 0);
  pace.calm = 0;
  pace.pressing = 0;
  if (!opening) tryPace(pace, firstGuess(measured), now);
  else if (isEnclosed(pace) && trial) {
    pace.patience = afterRefusal(pace.patience);
    settle(pace);
  } else if (isEnclosed(pace) && (span.recovery === null || measured.calls > 20)) {
    // The settled pace was too fast by a twentieth; a throttle within twenty calls tells of a limit that fell.
    pace.most = pace.perSecond;
    pace.least *= 0.95;
    settle(pace);
  } else enclose(pace, lasted(pace, span.recovery, measured), pace.perSecond, now);
}

/**
 * Part of what was accepted came at once, and the recovery is a part of the time in which that comes. A guess that is too
 * fast is refused, so a tenth is taken off; of a long recovery more may have been left, so a half is added.
 */
function firstGuess({ calls, seconds, recovery }: Measured): number {
  return ((recovery > LONG_RECOVERY_S ? 1.5 : 0.9) * calls) / (seconds + recovery);
}

/** The pace that the API gave between two throttles, of which the first took `before` seconds (null: a rest). */
function lasted({ least, perSecond }: Pace, before: number | null, measured: Measured): number {
  const { calls, seconds, recovery } = measured;
  // What came after a rest was saved up in it, and measures nothing: the pace was too fast, by a tenth at least.
  if (before === null) return Math.min(least, 0.9 * perSecond);
  // So few measure nothing: two trials on, a good pace that was refused by chance is found again.
  if (calls < 10) return Math.max(0.6 * perSecond, (calls - 1) / seconds);
  // What comes in rare large portions may have come twice in the span.
  const given = (calls - 1) / (recovery > LONG_RECOVERY_S ? seconds + recovery : seconds);
  return least < perSecond ? Math.max(least, given) : given;
}

/** Tries the next pace between the bounds, or settles where they are close. */
function enclose(pace: Pace, least: number, most: number | null, now: number): void {
  pace.least = least;
  pace.most = most === null || most <= least ? null : most;
  if (pace.most === null) tryPace(pace, STEP * least, now);
  else if (isEnclosed(pace)) settle(pace);
  else tryPace(pace, between(pace, pace.most), now);
}

function between(pace: Pace, most: number): number {
  const { least, span } = pace;
  const middle = Math.sqrt(least * most);
  if (comesRarely(pace)) return middle;
  // So far apart the lower bound is a poor guess: the pace that lasts is mostly near the one that was reached.
  if (least < 0.2 * most) return 0.7 * most;
  // Just after a throttle the lower bound was measured well, where both are near; the upper one was not.
  const isMeasured = span.calls === 0 && most < 1.5 * least;
  return Math.max(NEAREST * least, isMeasured ? Math.sqrt(least * middle) : middle);
}

function settle(pace: Pace): void {
  pace.perSecond = MARGIN * pace.least;
  pace.trial = null;
  pace.calm = 0;
}

function tryPace(pace: Pace, perSecond: number, now: number): void {
  pace.perSecond = Math.max(SLOWEST_PACE, perSecond);
  pace.trial = { sinceAt: now, calls: 0 };
  pace.calm = 0;
}

/** Whether the pace that lasts is known, and kept. */
export function hasSettled(pace: Pace): boolean {
  return isEnclosed(pace) && pace.trial === null;
}

function isEnclosed({ least, most }: Pace): boolean {
  return most !== null && most <= CLOSE * least;
}

/** Whether what was refused took long to come back: allowance comes in rare large portions. */
function comesRarely({ opening }: Pace): boolean {
  return opening !== null && opening.recovery > LONG_RECOVERY_S;
}

/** Milliseconds within which what exceeds the pace was always forgiven; null where it is not known, or takes long. */
export function forgivesWithin(pace: Pace): number | null {
  return isEnclosed(pace) && !comesRarely(pace) ? 1_000 * LONG_RECOVERY_S : null;
}

/**
 * How long a recovery from a throttle now may take, and the longest that did, in milliseconds. What comes in rare
 * portions comes again after the longest; else it was asked for as much too soon as the pace is too fast.
 */
export function recoveries(pace: Pace, now: number): { soon: number; longest: number } {
  const { span, opening, least, perSecond } = pace;
  const longest = 1_000 * (opening?.recovery ?? 0);
  // A quarter of the longest: most take less, and a probe that is refused costs one call.
  if (!comesRarely(pace)) return { soon: longest / 4, longest };
  const again = span.sinceAt + 1_000 * (span.recovery ?? 0) + longest;
  if (again > now) return { soon: again - now, longest };
  // At most a quarter of a minute, the longest of the usual windows.
  return { soon: Math.min(15_000, longest * (1 - least / perSecond)), longest };
}
