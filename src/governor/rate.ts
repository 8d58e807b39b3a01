/** How fast calls may follow one another, learnt by going faster while nothing objects. */

export type Rate = {
  /** The pace now, in calls a second. */
  perSecond: number;
  /** The pace at which the API last objected, if it did. */
  ceiling: number | null;
  /** When the next call is due at this pace. */
  freeAt: number;
  /** What was accepted since the last objection (`drained`: the API had nothing left then), or since a rest. */
  span: { sinceAt: number; calls: number; drained: boolean };
  /** Calls accepted since the last objection or trial, and how many of them allow a faster trial. */
  calm: number;
  patience: number;
  /** The pace to go back to when a trial fails. */
  trialFrom: number | null;
  /** Calls that used the pace to the full. */
  exercised: number;
};

const FIRST_PACE = 4;
const FASTEST_PACE = 10_000;
const GROWTH = 1.2;
const TRIAL_STEP = 1.15;
const TRIAL_CALLS = 60;
const FIRST_PATIENCE = 300;
const MOST_PATIENCE = 4_000;
/** A rest this long may have refilled the API's allowance. */
const REST_MS = 5_000;

export function initialRate(): Rate {
  return {
    perSecond: FIRST_PACE,
    ceiling: null,
    freeAt: 0,
    span: { sinceAt: 0, calls: 0, drained: false },
    calm: 0,
    patience: FIRST_PATIENCE,
    trialFrom: null,
    exercised: 0,
  };
}

/** Calls that may be allowed at once without leaving the pace noticeably. */
export function blockSize({ perSecond, ceiling }: Rate): number {
  return Math.max(1, Math.min(10, Math.floor(perSecond * (ceiling === null ? 0.25 : 0.05))));
}

/** `calls` begin now. */
export function takeSlots(rate: Rate, calls: number, now: number): Rate {
  const rested = now - rate.freeAt > REST_MS;
  return {
    ...rate,
    freeAt: Math.max(now, rate.freeAt) + (calls * 1000) / rate.perSecond,
    span: rested ? { sinceAt: now, calls: 0, drained: false } : rate.span,
    exercised: rested
      ? 0
      : now - rate.freeAt < 1000 / rate.perSecond
        ? rate.exercised + calls
        : rate.exercised,
  };
}

/** `calls` that had their slots were not made. */
export function giveBackSlots(rate: Rate, calls: number, now: number): Rate {
  return { ...rate, freeAt: Math.max(now, rate.freeAt - (calls * 1000) / rate.perSecond) };
}

/** One more call was accepted. */
export function accepted(rate: Rate): Rate {
  const span = { ...rate.span, calls: rate.span.calls + 1 };
  const calm = rate.calm + 1;
  const full = rate.exercised > 0;
  const next = { ...rate, span, calm, exercised: full ? rate.exercised - 1 : 0 };
  if (!full) return next;
  if (rate.ceiling === null) return { ...next, perSecond: Math.min(FASTEST_PACE, rate.perSecond * GROWTH) };
  const due = rate.trialFrom === null ? rate.patience : TRIAL_CALLS;
  return calm < due
    ? next
    : { ...next, perSecond: rate.perSecond * TRIAL_STEP, trialFrom: rate.perSecond, calm: 0 };
}

/** The API objected to the pace at `at`. */
export function objected(rate: Rate, at: number): Rate {
  const seconds = Math.max(0.2, (at - rate.span.sinceAt) / 1000);
  return {
    ...rate,
    perSecond: Math.max(1 / 86_400, slower(rate, rate.span.calls / seconds)),
    ceiling: rate.perSecond,
    span: { sinceAt: at, calls: 0, drained: true },
    calm: 0,
    patience: rate.trialFrom === null ? rate.patience : Math.min(MOST_PATIENCE, rate.patience * 2),
    trialFrom: null,
    exercised: 0,
  };
}

/** Between two moments at which the API had nothing left, what it accepted is what it gives. */
function slower(rate: Rate, measured: number): number {
  if (rate.trialFrom !== null) return rate.trialFrom;
  if (rate.span.drained && rate.span.calls >= 5) return Math.min(0.98 * measured, 0.97 * rate.perSecond);
  if (rate.ceiling === null) return 0.8 * Math.min(measured, rate.perSecond);
  return 0.93 * rate.perSecond;
}
