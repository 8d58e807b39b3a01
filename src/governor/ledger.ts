/** What is learnt of a quota: what is left of it, by the header or by own counting, when it resets, and when it is worth a look. */

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../base/clock.ts';

export type Ledger = {
  /** Calls in a full pool, as the header says (`hasHeader`) or as were counted. */
  limit: number | null;
  hasHeader: boolean;
  /** Less those answered since the header; null while nothing is known. */
  left: number | null;
  /** When the header said what is left; when a request was last let through at or below the reserve. */
  knownAt: number;
  probedAt: number;
  /** A look is due, whatever is expected: a person asks. */
  isDue: boolean;
  /** The latest reset lies between these moments, and the period between these bounds (null: none yet). */
  reset: { afterAt: number; beforeAt: number } | null;
  leastMs: number;
  mostMs: number | null;
  /** How many resets were seen. */
  resets: number;
  /** The pool was seen not to reset since; and when it rose last. */
  quietAt: number;
  roseAt: number;
  /** Accepted since the latest reset; and how often in a row a refusal came after as many. */
  used: number;
  agreed: number;
};

const usual = [
  ...[1_000, 5_000, 10_000, 15_000, 30_000],
  ...[1, 5, 10, 15, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 6, 12].map((hours) => hours * HOUR_MS),
  ...[1, 7, 30].map((days) => days * DAY_MS),
];
const common = [1_000, 10_000, MINUTE_MS, 15 * MINUTE_MS, HOUR_MS, DAY_MS, 7 * DAY_MS, 30 * DAY_MS];
const SHORTEST_MS = 1_000;
/** A counted limit is put to the test again after so many periods. */
const PERIODS_OF_TRUST = 8;

export function initialLedger(now: number): Ledger {
  return {
    ...{ limit: null, hasHeader: false, left: null, knownAt: now, probedAt: now, isDue: false },
    ...{ reset: null, leastMs: 0, mostMs: null, resets: 0, quietAt: now, roseAt: now, used: 0, agreed: 0 },
  };
}

/** Calls that are left unused, so that the look whether more came is not refused. */
export function reserveOf(ledger: Ledger): number {
  const { limit, hasHeader } = ledger;
  if (limit === null || !hasHeader) return 0;
  return periodOf(ledger) === null ? Math.min(24, Math.max(2, Math.ceil(0.03 * limit))) : 1;
}

/** The one usual period that fits what was seen, or one that is known well; null else. */
export function periodOf({ leastMs, mostMs }: Ledger): number | null {
  if (mostMs === null) return null;
  const fitting = usual.filter((period) => period >= leastMs * 0.995 && period <= mostMs * 1.005);
  if (fitting.length === 1) return fitting[0] as number;
  return fitting.length === 0 && mostMs - leastMs < 0.05 * mostMs ? (leastMs + mostMs) / 2 : null;
}

/** When the pool is expected to be full again, at the latest; null where that is not known. */
export function nextReset(ledger: Ledger, now: number): number | null {
  const period = periodOf(ledger);
  if (period === null || !ledger.reset) return null;
  const { beforeAt } = ledger.reset;
  return beforeAt + Math.max(1, Math.ceil((now - beforeAt) / period)) * period;
}

/** When one request may go to see whether more calls came. */
export function nextProbe(ledger: Ledger): number {
  const { reset, quietAt, knownAt, left, leastMs, mostMs, hasHeader } = ledger;
  const probed = Math.max(knownAt, ledger.probedAt);
  if (ledger.isDue) return probed;
  /** From the reserve it is not refused. */
  const isFree = hasHeader && (left ?? 0) > 0;
  const period = periodOf(ledger);
  if (reset && period !== null) {
    const [first, last] = [reset.afterAt + period, reset.beforeAt + period];
    // Where a look is free, it searches the moment; else it waits for the last moment at which the reset can be.
    if (isFree && last - first > 0.01 * period)
      return Math.max(probed + Math.max(SHORTEST_MS, (last - first) / 4), first);
    return last > probed ? last : probed + Math.max(SHORTEST_MS, probed - last);
  }
  // The longer nothing came, the less often; at the ends of usual periods.
  const fromAt = reset ? reset.afterAt : quietAt;
  const quietMs = probed - fromAt;
  const soonest = probed + Math.max(SHORTEST_MS, (isFree ? 0.05 : reset ? 0.1 : 0.35) * quietMs);
  const latest = probed + Math.max(SHORTEST_MS, (isFree ? 0.35 : reset ? 1 : 4) * quietMs);
  const end = (isFree ? usual : common)
    .map((period) => fromAt + period * 1.005 + SHORTEST_MS)
    .find((at) => at >= soonest && at >= fromAt + leastMs);
  const known = reset && mostMs !== null ? Math.max(probed + SHORTEST_MS, reset.beforeAt + mostMs) : null;
  return Math.min(end ?? latest, latest, probed + DAY_MS, known ?? latest);
}

/** A header says what is left. `others`: our requests in flight, which it may count or not. */
export function readHeader(
  ledger: Ledger,
  limit: number,
  remaining: number,
  others: number,
  now: number,
): void {
  const { left, knownAt, hasHeader } = ledger;
  const rise = left === null || !hasHeader ? 0 : remaining - (left - 1);
  // At least half of what was used came back, and more than requests in flight explain, after it had stood still: it does not slide.
  const isJump = rise > 2 * others && rise >= Math.max(3, 0.5 * (limit - remaining + rise));
  if (isJump && now - ledger.roseAt >= 0.5 * (now - ledger.quietAt)) hasReset(ledger, knownAt, now);
  if (rise > others) ledger.roseAt = now;
  Object.assign(ledger, { limit, hasHeader: true, left: remaining, knownAt: now, isDue: false });
  ledger.used += 1;
  // A full pool does not show whether it reset.
  if (remaining >= limit - 1 - others && !ledger.reset) ledger.quietAt = now;
}

/** A request was accepted without a word of the quota. */
export function acceptedWithoutHeader(ledger: Ledger, now: number): void {
  ledger.isDue = false;
  if (ledger.left === 0) {
    // More came. A counted limit is believed once a second count agreed.
    hasReset(ledger, ledger.knownAt, now);
    const isBelieved = ledger.hasHeader || (ledger.agreed > 0 && ledger.agreed % PERIODS_OF_TRUST !== 0);
    if (isBelieved) ledger.agreed += 1;
    Object.assign(ledger, { left: isBelieved ? ledger.limit : null, knownAt: now });
  }
  countCall(ledger);
}

/** A request counts as made, whatever became of it. */
export function countCall(ledger: Ledger): void {
  ledger.used += 1;
  if (ledger.left !== null) ledger.left = Math.max(0, ledger.left - 1);
}

/** Calls are refused for want of quota. `isNew`: they were not before. */
export function ranOut(ledger: Ledger, isNew: boolean, now: number): void {
  if (!ledger.hasHeader && isNew) {
    const limit = Math.max(1, ledger.used);
    const isSame = ledger.limit !== null && Math.abs(limit - ledger.limit) <= Math.max(1, 0.02 * limit);
    Object.assign(ledger, { limit, agreed: isSame ? ledger.agreed + 1 : 0 });
  }
  Object.assign(ledger, { left: 0, knownAt: now, probedAt: now, isDue: false });
}

function hasReset(ledger: Ledger, afterAt: number, beforeAt: number): void {
  const last = ledger.reset;
  ledger.leastMs = Math.max(ledger.leastMs, afterAt - ledger.quietAt);
  if (last) {
    const bounds = { leastMs: afterAt - last.beforeAt, mostMs: beforeAt - last.afterAt };
    const leastMs = Math.max(ledger.leastMs, bounds.leastMs);
    const mostMs = Math.min(ledger.mostMs ?? bounds.mostMs, bounds.mostMs);
    // What contradicts what was seen before is believed: the period is another one.
    Object.assign(
      ledger,
      leastMs <= mostMs ? { leastMs, mostMs } : { ...bounds, leastMs: Math.max(0, bounds.leastMs) },
    );
  }
  const period = last && periodOf(ledger);
  const narrow = period
    ? {
        afterAt: Math.max(afterAt, last.afterAt + period),
        beforeAt: Math.min(beforeAt, last.beforeAt + period),
      }
    : null;
  ledger.reset = narrow && narrow.afterAt <= narrow.beforeAt ? narrow : { afterAt, beforeAt };
  Object.assign(ledger, { quietAt: beforeAt, roseAt: beforeAt, used: 0, resets: ledger.resets + 1 });
}
