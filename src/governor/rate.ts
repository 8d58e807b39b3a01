/**
 * How fast calls may follow one another. Nothing is known at first, so the pace grows with every success.
 * After the first objection the lasting pace is enclosed between what the API gave and what it objected to,
 * by trials at one pace each; then the pace stays just below, and is only seldom tried again.
 */

export type Rate = {
  /** The pace now, in calls a second. */
  perSecond: number;
  /** When the next call is due at this pace. */
  freeAt: number;
  /** Bounds of the pace that lasts, in calls a second; `most` is null until the API objected to one. */
  least: number;
  most: number | null;
  /** Accepted since the API objected, with the seconds of waiting that followed; or since a rest (`null`). */
  span: Span & { recovery: number | null };
  /** Accepted at a pace above `least`. */
  trial: Span | null;
  /**
   * What was accepted before the first objection: with the bounds it tells how much comes on top at once.
   * And the longest recovery from any.
   */
  opening: { calls: number; seconds: number; recovery: number } | null;
  /** Calls accepted at the settled pace, and how many of them warrant the trial of a faster one. */
  calm: number;
  patience: number;
  /** Calls under way that came as soon as the pace allowed them. */
  pressing: number;
};

/** `failures`: how many calls tried in vain before one was accepted. */
type Objection = { sinceAt: number; failures: number };

type Span = { sinceAt: number; calls: number };

const FIRST_PACE = 4;
const FASTEST_PACE = 10_000;
const SLOWEST_PACE = 1 / 3_600;
const GROWTH = 1.15;
/** Bounds so close need no trial between them. */
const CLOSE = 1.08;
/** A trial this near to the least pace settles it where it is refused, and soon shows whether it lasts. */
const NEAREST = 1.07;
export const LONG_RECOVERY_MS = 5_000;
/** Calls and seconds at a settled pace before a faster one is tried; and how many times as many after each that was refused. */
const FIRST_PATIENCE = 400;
const LEAST_PATIENCE_S = 60;
const MOST_PATIENCE = 16_000;
const DISCOURAGED = 3;
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
  const trial = rate.trial && { sinceAt: now, calls: 0 };
  return { ...taken, span: { sinceAt: now, calls: 0, recovery: null }, trial, pressing: 0 };
}

/** `calls` that had their slots were not made. */
export function giveBackSlots(rate: Rate, calls: number, now: number): Rate {
  return {
    ...rate,
    freeAt: Math.max(now, rate.freeAt - (calls * 1_000) / rate.perSecond),
    pressing: Math.max(0, rate.pressing - calls),
  };
}

/** One more call was accepted. */
export function accepted(rate: Rate, now: number): Rate {
  const next = { ...rate, span: more(rate.span), trial: rate.trial && more(rate.trial) };
  if (rate.pressing === 0) return next;
  const pressed = { ...next, pressing: rate.pressing - 1, calm: rate.calm + 1 };
  if (!rate.opening) return { ...pressed, perSecond: Math.min(FASTEST_PACE, rate.perSecond * GROWTH) };
  if (!pressed.trial)
    return isPatient(pressed) ? pressed : onTrial(pressed, 1.2 * (rate.most ?? rate.least), now);
  if (isFirstGuess(rate))
    return pressed.calm < enough(rate) ? pressed : onTrial(pressed, 1.25 * rate.perSecond, now);
  return lasts(pressed, pressed.trial, now) ? enclose(pressed, rate.perSecond, rate.most, now) : pressed;
}

/** Calls waited for quota, and not for the pace: a faster one would have been of no use. */
export function wasFastEnough(rate: Rate): Rate {
  return { ...rate, calm: 0 };
}

function more<T extends Span>(span: T): T {
  return { ...span, calls: span.calls + 1 };
}

function isPatient({ calm, patience, perSecond }: Rate): boolean {
  return calm < Math.max(patience, LEAST_PATIENCE_S * perSecond);
}

function isFirstGuess({ least, most }: Rate): boolean {
  return least === 0 && most === null;
}

/** A first guess is soon left behind, unless the recovery says that what comes at once comes but rarely. */
function enough(rate: Rate): number {
  return rate.opening && comesRarely(rate) ? 2 * rate.opening.calls : Math.max(20, rate.perSecond);
}

/** Whether a trial brought more than the least pace and all that comes on top at once can explain. */
function lasts({ least, opening }: Rate, trial: Span, now: number): boolean {
  const atOnce = Math.max(2 * least, opening ? opening.calls - least * opening.seconds : 0);
  return trial.calls > (least * (now - trial.sinceAt)) / 1_000 + atOnce + 5;
}

/** Whether the pace is known, and what exceeds it is forgiven soon. */
export function forgivesSoon(rate: Rate): boolean {
  return isSettled(rate) && !comesRarely(rate);
}

/** The API objected to the pace at `sinceAt`, and accepted a call again at `now`. */
export function objected(rate: Rate, { sinceAt: at, failures }: Objection, now: number): Rate {
  const seconds = Math.max(0.1, (at - rate.span.sinceAt) / 1_000);
  const calls = Math.max(1, rate.span.calls);
  const recovery = (now - at) / 1_000;
  const after = {
    ...rate,
    freeAt: now,
    span: { sinceAt: at, calls: 0, recovery },
    opening: longer(rate.opening ?? { calls, seconds, recovery }, failures > 0 ? recovery : 0),
    calm: 0,
    pressing: 0,
  };
  if (!rate.opening) {
    // Part of what was accepted came on top; a long recovery belongs to what it recovers from.
    const isLong = recovery > LONG_RECOVERY_MS / 1_000;
    return onTrial(after, isLong ? (1.5 * calls) / (seconds + recovery) : (0.8 * calls) / seconds, now);
  }
  if (isSettled(rate)) {
    if (rate.trial)
      return settle({ ...after, patience: Math.min(MOST_PATIENCE, rate.patience * DISCOURAGED) });
    if (rate.span.recovery === null || calls > 20)
      return settle({ ...after, least: 0.95 * rate.least, most: rate.perSecond });
  }
  return enclose(after, ...enclosed(rate, calls, seconds, recovery), now);
}

/** Between two objections the API gave what was accepted, and no more than was accepted while it was asked. */
function enclosed(rate: Rate, calls: number, seconds: number, recovery: number): [number, number] {
  const { least, perSecond, span, trial } = rate;
  if (span.recovery === null) return [Math.min(least, 0.9 * perSecond), perSecond];
  if (calls < 10) return [Math.max(0.6 * perSecond, (calls - 1) / seconds), perSecond];
  // What comes in rare large portions may have come twice in the span.
  const whole = recovery > LONG_RECOVERY_MS / 1_000 ? seconds + recovery : seconds;
  const given = (calls - 1) / whole;
  // Slower trials before this one say nothing of the most, and what comes in portions may have come once more.
  const portion = given * span.recovery;
  const asked = (calls + 1 + portion) / Math.max(0.1, seconds - span.recovery);
  const most = trial?.calls === calls ? Math.min(perSecond, asked) : perSecond;
  return [least < most ? Math.max(least, given) : given, most];
}

/** The next pace to try between the bounds, or the one to keep where they are close. */
function enclose(rate: Rate, least: number, most: number | null, now: number): Rate {
  if (most === null || most <= least) return onTrial({ ...rate, least, most: null }, 1.25 * least, now);
  const bounded = { ...rate, least, most };
  if (isSettled(bounded)) return settle(bounded);
  return onTrial(bounded, between(bounded), now);
}

function between(rate: Rate & { most: number }): number {
  const { least, most, span } = rate;
  const middle = Math.sqrt(least * most);
  if (comesRarely(rate)) return middle;
  if (least < 0.2 * most) return 0.7 * most;
  // Just after an objection the least was measured well, where both are near; the most was not.
  const isMeasured = span.calls === 0 && most < 1.5 * least;
  return Math.max(NEAREST * least, isMeasured ? Math.sqrt(least * middle) : middle);
}

/** Whether what was refused took long to come back: allowance comes in rare large portions. */
function comesRarely(rate: Rate): boolean {
  return rate.opening !== null && rate.opening.recovery > LONG_RECOVERY_MS / 1_000;
}

function longer<T extends { recovery: number }>(opening: T, recovery: number): T {
  return { ...opening, recovery: Math.max(opening.recovery, recovery) };
}

/**
 * How long a recovery from an objection at `now` may take, and the longest that did, in milliseconds. What comes
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

function isSettled({ least, most }: Pick<Rate, 'least' | 'most'>): boolean {
  return most !== null && most <= CLOSE * least;
}

function settle(rate: Rate): Rate {
  return { ...rate, perSecond: 0.985 * rate.least, trial: null, calm: 0 };
}

/** A pace of which nothing is known yet. */
function onTrial(rate: Rate, pace: number, now: number): Rate {
  const perSecond = Math.max(SLOWEST_PACE, pace);
  return { ...rate, perSecond, trial: { sinceAt: now, calls: 0 }, calm: 0 };
}
