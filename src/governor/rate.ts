/**
 * How fast requests may follow one another. The rate grows until it is throttled; then trials at one rate each enclose
 * the rate that lasts. It stays just below that one, and a faster one is tried seldom.
 */

/** All rates are in requests a second. */
export type Rate = {
  perSecond: number;
  /** When the next request is due. */
  freeAt: number;
  /** Bounds of the rate that lasts; `most` is null until the API throttled to one. */
  least: number;
  most: number | null;
  /** Accepted since the latest throttle, which took `recovery` seconds to be over; or since a rest (null). */
  span: Span & { recovery: number | null };
  /** Accepted since a rate above `least` is being tried; null where none is. */
  trial: Span | null;
  /** Accepted before the first throttle; and the longest recovery, in seconds, from any. */
  opening: Measured | null;
  /** Requests accepted at the settled rate, and how many of them warrant the trial of a faster one. */
  steadyCalls: number;
  callsBeforeTrial: number;
  /** Whether the first throttle refused prefetches, which no trial was postponed for yet. */
  owesTrial: boolean;
  /** Requests in flight that came as soon as the rate allowed them: only these say anything of it. */
  pressing: number;
};

type Span = { sinceAt: number; calls: number };

/** What was accepted before a throttle, and how long that took to be over. */
type Measured = { calls: number; seconds: number; recovery: number };

/** A throttle that is over: when it began, probes refused meanwhile, and milliseconds in which nobody asked. */
type Throttle = { sinceAt: number; failures: number; idleMs: number };

/** Before anything is known of the API, the second request comes a tenth of a second after the first. */
const FIRST_RATE = 10;
/** More than one process can make; and a request an hour, below which it is the quota that limits. */
const FASTEST_RATE = 10_000;
const SLOWEST_RATE = 1 / 3_600;
/** By each request while nothing was throttled: ten times the rate after thirteen, 0.6 s more for a first sync. */
const GROWTH = 1.2;
/** Bounds so close need no trial between them: less than a tenth could be won. */
const CLOSE = 1.08;
/** Bounds so near that the rate may stay at the lower one for some minutes. */
const NEAR = 1.6;
/** The least step of a trial: refused, it leaves the bounds close; accepted, it soon shows. */
const NEAREST = 1.07;
/** Without an upper bound the rate grows by a quarter a trial: three trials double it. */
const STEP = 1.25;
/** Above what was refused once: a limit that rose by less is not worth another refusal. */
const HIGHER = 1.2;
/** Below what was measured, for the noise of latencies. */
const MARGIN = 0.985;
/** Seconds. The usual windows last one, ten or sixty: beyond this, allowance comes in rare large portions. */
const LONG_RECOVERY_S = 5;
/** After this rest, in milliseconds, what the API allows at once may be full again. */
const REST_MS = 5_000;
/** Requests, and seconds, at the settled rate before a faster one is tried. */
const FIRST_CALLS_BEFORE_TRIAL = 400;
const LEAST_SECONDS_BEFORE_TRIAL = 60;
/** Some hours of use, after which a limit that rose has to be found. */
const MAX_CALLS_BEFORE_TRIAL = 16_000;

export function initialRate(): Rate {
  return {
    perSecond: FIRST_RATE,
    freeAt: 0,
    least: 0,
    most: null,
    span: { sinceAt: 0, calls: 0, recovery: null },
    trial: null,
    opening: null,
    steadyCalls: 0,
    callsBeforeTrial: FIRST_CALLS_BEFORE_TRIAL,
    owesTrial: false,
    pressing: 0,
  };
}

/** How many requests warrant another trial after one was refused: from 400 on, four trials in the first 16,000. */
export function callsAfterRefusal(callsBeforeTrial: number): number {
  return Math.min(MAX_CALLS_BEFORE_TRIAL, 3 * callsBeforeTrial);
}

/** Permits that may be given at once, a transaction each time: 0.15 s of them does not show, nor 0.05 s near a limit. */
export function blockSize({ perSecond, opening }: Rate): number {
  return Math.max(1, Math.min(10, Math.floor(perSecond * (opening ? 0.05 : 0.15))));
}

/** `calls` requests begin now. */
export function takeSlots(rate: Rate, calls: number, now: number): void {
  const slotMs = 1_000 / rate.perSecond;
  const late = now - rate.freeAt;
  rate.freeAt = Math.max(now, rate.freeAt) + calls * slotMs;
  if (late > REST_MS + slotMs) restartMeasurement(rate, now);
  else rate.pressing = late < slotMs ? rate.pressing + calls : 0;
}

/** `calls` requests that had their slots were not sent. */
export function giveBackSlots(rate: Rate, calls: number, now: number): void {
  rate.freeAt = Math.max(now, rate.freeAt - (calls * 1_000) / rate.perSecond);
  rate.pressing = Math.max(0, rate.pressing - calls);
}

/** A rest, or a clock that was set, lies between now and what was being measured. */
export function restartMeasurement(rate: Rate, now: number): void {
  rate.span = { sinceAt: now, calls: 0, recovery: null };
  if (rate.trial) rate.trial = { sinceAt: now, calls: 0 };
  rate.pressing = 0;
}

/** A request was accepted. */
export function accepted(rate: Rate, now: number): void {
  const { span, trial, opening, least, most, perSecond, callsBeforeTrial } = rate;
  span.calls += 1;
  if (trial) trial.calls += 1;
  if (rate.pressing === 0) return;
  rate.pressing -= 1;
  rate.steadyCalls += 1;
  if (!opening) grow(rate, now);
  else if (!trial) {
    if (rate.steadyCalls >= Math.max(callsBeforeTrial, LEAST_SECONDS_BEFORE_TRIAL * perSecond))
      tryRate(rate, most && !isEnclosed(rate) ? between(rate, most) : HIGHER * (most ?? least), now);
  } else if (least === 0 && most === null) {
    if (rate.steadyCalls >= callsAtFirstGuess(rate, opening)) tryRate(rate, STEP * perSecond, now);
  } else if (lasts(rate, trial, now)) enclose(rate, perSecond, most, now);
}

/** The slot that has begun ends sooner, too. */
function grow(rate: Rate, now: number): void {
  rate.perSecond = Math.min(FASTEST_RATE, GROWTH * rate.perSecond);
  if (rate.freeAt > now) rate.freeAt = now + (rate.freeAt - now) / GROWTH;
}

/** Requests after which a first guess is left: a second's, twenty at least; of rare portions twice the first one. */
function callsAtFirstGuess(rate: Rate, opening: Measured): number {
  return comesRarely(rate) ? 2 * opening.calls : Math.max(20, rate.perSecond);
}

/**
 * Whether a trial brought more than the least rate explains with all that comes at once on top of it: two seconds'
 * worth, or what came before the first throttle.
 */
function lasts({ least, opening }: Rate, trial: Span, now: number): boolean {
  const atOnce = Math.max(2 * least, opening ? opening.calls - least * opening.seconds : 0);
  // Five more, since responses come in any order.
  return trial.calls > (least * (now - trial.sinceAt)) / 1_000 + atOnce + 5;
}

/** The API throttled, and accepts a request again now. */
export function throttled(rate: Rate, { sinceAt, failures, idleMs }: Throttle, now: number): void {
  const { span, trial, opening } = rate;
  const recovery = (now - sinceAt - idleMs) / 1_000;
  const seconds = Math.max(0.1, (sinceAt - span.sinceAt) / 1_000);
  const measured = { calls: Math.max(1, span.calls), seconds, recovery };
  rate.freeAt = now;
  rate.span = { sinceAt: sinceAt + idleMs, calls: 0, recovery };
  rate.opening = opening ?? { ...measured };
  // Without a refused probe the wait was of our own choice.
  rate.opening.recovery = Math.max(rate.opening.recovery, failures > 0 ? recovery : 0);
  rate.steadyCalls = 0;
  rate.pressing = 0;
  if (!opening) tryRate(rate, firstGuess(measured), now);
  else if (isEnclosed(rate) && trial) {
    rate.callsBeforeTrial = callsAfterRefusal(rate.callsBeforeTrial);
    keepToLeast(rate);
  } else if (isEnclosed(rate) && (span.recovery === null || measured.calls > 20)) {
    // The settled rate was too fast by a twentieth; a throttle within twenty requests tells of a limit that fell.
    rate.most = rate.perSecond;
    rate.least *= 0.95;
    keepToLeast(rate);
  } else enclose(rate, lasted(rate, span.recovery, measured), rate.perSecond, now);
}

/**
 * Part of what was accepted came at once, and the recovery is a part of the time in which that comes. A guess that is too
 * fast is refused, so a tenth is taken off; of a long recovery more may have been left, so a half is added.
 */
function firstGuess({ calls, seconds, recovery }: Measured): number {
  return ((recovery > LONG_RECOVERY_S ? 1.5 : 0.9) * calls) / (seconds + recovery);
}

/** The rate that the API gave between two throttles, of which the first took `before` seconds (null: a rest). */
function lasted({ least, perSecond }: Rate, before: number | null, measured: Measured): number {
  const { calls, seconds, recovery } = measured;
  // What came after a rest was saved up in it, and measures nothing: the rate was too fast, by a tenth at least.
  if (before === null) return Math.min(least, 0.9 * perSecond);
  // So few measure nothing: two trials on, a good rate that was refused by chance is found again.
  if (calls < 10) return Math.max(0.6 * perSecond, (calls - 1) / seconds);
  // What comes in rare large portions may have come twice in the span.
  const given = (calls - 1) / (recovery > LONG_RECOVERY_S ? seconds + recovery : seconds);
  return least < perSecond ? Math.max(least, given) : given;
}

/** Tries the next rate between the bounds, or settles where they are close. */
function enclose(rate: Rate, least: number, most: number | null, now: number): void {
  rate.least = least;
  rate.most = most === null || most <= least ? null : most;
  if (rate.most === null) tryRate(rate, STEP * least, now);
  else if (isEnclosed(rate)) keepToLeast(rate);
  else if (rate.owesTrial && rate.most < NEAR * least && !comesRarely(rate)) postponeTrial(rate);
  else tryRate(rate, between(rate, rate.most), now);
}

/** A trial between the bounds is most likely refused. Counted as if it had been, it comes later and pays for a refusal. */
function postponeTrial(rate: Rate): void {
  rate.owesTrial = false;
  rate.callsBeforeTrial = callsAfterRefusal(rate.callsBeforeTrial);
  keepToLeast(rate);
}

/** A request was refused while prefetches may be in flight, which are refused with it. */
export function refusedPrefetches(rate: Rate): void {
  if (!rate.opening) rate.owesTrial = true;
}

function between(rate: Rate, most: number): number {
  const { least, span, trial } = rate;
  const middle = Math.sqrt(least * most);
  if (comesRarely(rate)) return middle;
  // So far apart the lower bound is a poor guess: the rate that lasts is mostly near the one that was reached.
  if (least < 0.2 * most) return 0.7 * most;
  // Just after a throttle, and at the settled rate, the lower bound is known well, where both are near; the upper one is not.
  const isMeasured = (span.calls === 0 || !trial) && most < 1.5 * least;
  return Math.max(NEAREST * least, isMeasured ? Math.sqrt(least * middle) : middle);
}

function keepToLeast(rate: Rate): void {
  rate.perSecond = MARGIN * rate.least;
  rate.trial = null;
  rate.steadyCalls = 0;
}

function tryRate(rate: Rate, perSecond: number, now: number): void {
  rate.perSecond = Math.max(SLOWEST_RATE, perSecond);
  rate.trial = { sinceAt: now, calls: 0 };
  rate.steadyCalls = 0;
}

/** Whether the rate that lasts is known, and kept. */
export function hasSettled(rate: Rate): boolean {
  return isEnclosed(rate) && rate.trial === null;
}

function isEnclosed({ least, most }: Rate): boolean {
  return most !== null && most <= CLOSE * least;
}

/** Whether what was refused took long to come back: allowance comes in rare large portions. */
function comesRarely({ opening }: Rate): boolean {
  return opening !== null && opening.recovery > LONG_RECOVERY_S;
}

/** Milliseconds within which what exceeds the rate was always forgiven; null where that is not known, or takes long. */
export function forgivesWithin(rate: Rate): number | null {
  return isEnclosed(rate) && !comesRarely(rate) ? 1_000 * LONG_RECOVERY_S : null;
}

/**
 * How long a recovery from a throttle now may take, and the longest that did, in milliseconds. What comes in rare
 * portions comes again after the longest; else it was asked for as much too soon as the rate is too fast.
 */
export function recoveries(rate: Rate, now: number): { soon: number; longest: number } {
  const { span, opening, least, perSecond } = rate;
  const longest = 1_000 * (opening?.recovery ?? 0);
  // A quarter of the longest: most take less, and a probe that is refused costs one request.
  if (!comesRarely(rate)) return { soon: longest / 4, longest };
  const again = span.sinceAt + 1_000 * (span.recovery ?? 0) + longest;
  if (again > now) return { soon: again - now, longest };
  // At most a quarter of a minute, the longest of the usual windows.
  return { soon: Math.min(15_000, longest * (1 - least / perSecond)), longest };
}
