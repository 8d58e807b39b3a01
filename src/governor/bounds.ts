/**
 * How the pace that lasts is found. It grows until it is throttled, and is then enclosed by trials at one pace each;
 * each throttle measures, since what was accepted from one to the next is what the API gave. Then the pace stays just
 * below what lasts, and a faster one is only seldom tried.
 */

import { afterRefusal } from './patience.ts';
import type { Pause } from './pause.ts';
import { comesRarely, isSettled, LONG_RECOVERY_MS, type Rate, type Span } from './rate.ts';

type Throttle = Pick<Pause, 'sinceAt' | 'idleMs' | 'failures'>;

/** Calls a second: more than one process can make, and a call an hour, below which the quota is what limits. */
const FASTEST_PACE = 10_000;
const SLOWEST_PACE = 1 / 3_600;
/** By each call that came as soon as it might: ten times the pace after seventeen, two seconds more for a first sync. */
const GROWTH = 1.15;
/** A trial this near to the least pace settles it where it is refused, and soon shows whether it lasts. */
const NEAREST = 1.07;
/** A faster pace is tried after a minute at least. */
const LEAST_PATIENCE_S = 60;

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

/** The pace was throttled at `sinceAt`, and accepted a call again at `now`. */
export function throttled(rate: Rate, { sinceAt: at, failures, idleMs }: Throttle, now: number): Rate {
  const seconds = Math.max(0.1, (at - rate.span.sinceAt) / 1_000);
  const calls = Math.max(1, rate.span.calls);
  const recovery = (now - at - idleMs) / 1_000;
  const after = {
    ...rate,
    freeAt: now,
    span: { sinceAt: at + idleMs, calls: 0, recovery },
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
    if (rate.trial) return settle({ ...after, patience: afterRefusal(rate.patience) });
    if (rate.span.recovery === null || calls > 20)
      return settle({ ...after, least: 0.95 * rate.least, most: rate.perSecond });
  }
  return enclose(after, ...enclosed(rate, calls, seconds, recovery), now);
}

/** Between two throttles the API gave what was accepted; and not the pace at which it throttled. */
function enclosed(rate: Rate, calls: number, seconds: number, recovery: number): [number, number] {
  const { least, perSecond, span } = rate;
  if (span.recovery === null) return [Math.min(least, 0.9 * perSecond), perSecond];
  if (calls < 10) return [Math.max(0.6 * perSecond, (calls - 1) / seconds), perSecond];
  // What comes in rare large portions may have come twice in the span.
  const whole = recovery > LONG_RECOVERY_MS / 1_000 ? seconds + recovery : seconds;
  const given = (calls - 1) / whole;
  return [least < perSecond ? Math.max(least, given) : given, perSecond];
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
  // Just after a throttle the least was measured well, where both are near; the most was not.
  const isMeasured = span.calls === 0 && most < 1.5 * least;
  return Math.max(NEAREST * least, isMeasured ? Math.sqrt(least * middle) : middle);
}

function longer<T extends { recovery: number }>(opening: T, recovery: number): T {
  return { ...opening, recovery: Math.max(opening.recovery, recovery) };
}

function settle(rate: Rate): Rate {
  return { ...rate, perSecond: 0.985 * rate.least, trial: null, calm: 0 };
}

/** A pace of which nothing is known yet. */
function onTrial(rate: Rate, pace: number, now: number): Rate {
  const perSecond = Math.max(SLOWEST_PACE, pace);
  return { ...rate, perSecond, trial: { sinceAt: now, calls: 0 }, calm: 0 };
}
