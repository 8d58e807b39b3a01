/** When a quota resets, learnt from the moments between which it did. All periods are in milliseconds. */

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../clock.ts';

export type Window = {
  /** The latest reset happened after `afterAt` and not after `beforeAt`. */
  last: Bracket | null;
  /** The reset from which the period is measured, and how many periods lie between it and the latest. */
  first: Bracket | null;
  periods: number;
  /** Bounds of the period, as far as resets were seen one after another. */
  least: number;
  most: number | null;
  /** Since then the quota was watched and did not reset. */
  quietSinceAt: number;
};

export type Bracket = { afterAt: number; beforeAt: number };

type Period = { least: number; most: number; sure: boolean };

const SECOND_MS = 1_000;

/** Periods that people choose. */
export const usualPeriods = [
  ...[1, 5, 10, 15, 20, 30].map((n) => n * SECOND_MS),
  ...[1, 2, 5, 10, 15, 20, 30].map((n) => n * MINUTE_MS),
  ...[1, 2, 3, 4, 6, 8, 12].map((n) => n * HOUR_MS),
  ...[1, 7, 30].map((n) => n * DAY_MS),
];

/** Those that they mostly choose. */
export const commonPeriods = [
  SECOND_MS,
  10 * SECOND_MS,
  MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
  DAY_MS,
  7 * DAY_MS,
  30 * DAY_MS,
];

export function initialWindow(now: number): Window {
  return { last: null, first: null, periods: 0, least: 0, most: null, quietSinceAt: now };
}

/** The clock was set: no moment is known any longer. A period stays where three resets agreed on it. */
export function afterJump(window: Window, now: number): Window {
  const { least, most } = window.periods > 1 && isSure(window) ? window : initialWindow(now);
  return { ...initialWindow(now), least, most };
}

/** The quota reset somewhere in `bracket`. */
export function reset(window: Window, bracket: Bracket): Window {
  const { last, first, most } = window;
  const quiet = bracket.afterAt - window.quietSinceAt;
  const next = { ...window, last: bracket, quietSinceAt: bracket.beforeAt };
  const passed = last && periodsBetween(window, last, bracket);
  if (!last || !first || passed === null) {
    // One passed at least since the latest, so the period is no longer than all that time.
    const longest = last ? Math.min(most ?? Number.POSITIVE_INFINITY, bracket.beforeAt - last.afterAt) : most;
    const least = Math.max(window.least, quiet);
    const isBounded = longest !== null && least <= longest;
    return { ...next, first: bracket, periods: 0, least, most: isBounded ? longest : null };
  }
  const periods = window.periods + passed;
  const least = Math.max(
    window.least,
    quiet,
    (bracket.afterAt - last.beforeAt) / passed,
    (bracket.afterAt - first.beforeAt) / periods,
  );
  const longest = Math.min(
    most ?? Number.POSITIVE_INFINITY,
    (bracket.beforeAt - last.afterAt) / passed,
    (bracket.beforeAt - first.afterAt) / periods,
  );
  if (least <= longest)
    return { ...next, last: narrowed(window, last, bracket, passed), periods, least, most: longest };
  // The period changed. The two latest resets alone count now.
  const shortest = Math.max(0, bracket.afterAt - last.beforeAt);
  return { ...next, first: last, periods: 1, least: shortest, most: bracket.beforeAt - last.afterAt };
}

/** How many periods lie between the latest reset and this one; null where that cannot be told. */
function periodsBetween({ least, most }: Window, last: Bracket, bracket: Bracket): number | null {
  const unseen = bracket.beforeAt - bracket.afterAt;
  // Watched closely enough that no reset went unseen.
  if (unseen <= Math.max(least, bracket.afterAt - last.beforeAt)) return 1;
  if (most === null) return null;
  const fewest = Math.max(1, Math.ceil((bracket.afterAt - last.beforeAt) / most));
  const greatest = Math.floor((bracket.beforeAt - last.afterAt) / Math.max(1, least));
  return fewest === greatest ? fewest : null;
}

/** A bracket as narrow as the latest reset and the known period make it. */
function narrowed(window: Window, last: Bracket, bracket: Bracket, passed: number): Bracket {
  const period = periodOf(window);
  if (!period.sure) return bracket;
  const afterAt = Math.max(bracket.afterAt, last.afterAt + passed * period.least);
  const beforeAt = Math.min(bracket.beforeAt, last.beforeAt + passed * period.most);
  return afterAt <= beforeAt ? { afterAt, beforeAt } : bracket;
}

/**
 * The period, as well as it is known: a usual one where the evidence allows just one, within the half percent by
 * which clocks and latencies blur it; and the shortest usual one where only one reset was seen.
 */
export function periodOf({ least, most }: Window): Period {
  if (most === null) {
    const guess = usualPeriods.find((period) => period >= 0.997 * least) ?? Math.max(SECOND_MS, least);
    return { least: guess, most: guess, sure: false };
  }
  const fitting = usualPeriods.filter((period) => period >= least * 0.995 && period <= most * 1.005);
  const [only, another] = fitting;
  if (only !== undefined && another === undefined)
    return { least: only, most: only, sure: most - least < 0.5 * only };
  return { least, most, sure: most - least < 0.05 * most };
}

/** Whether the period is known well enough to wait for it: a usual one to a half of it, any other to a twentieth. */
export function isSure(window: Window): boolean {
  return window.periods > 0 && periodOf(window).sure;
}

/** Between which moments the reset after the latest may be expected, by each of `periods` that the evidence allows. */
export function expectedResets(window: Window, periods: readonly number[] = usualPeriods): Bracket[] {
  const { last, least, most } = window;
  if (!last) return [];
  // Moments of resets are known to some per mille of the period downwards, and to the delay of a probe upwards.
  const longest = 1.02 * (most ?? Number.POSITIVE_INFINITY);
  const fitting = periods.filter((period) => period >= 0.997 * least && period <= longest);
  const isOneKnown = isSure(window) || fitting.length === 0;
  const believed = isOneKnown
    ? [periodOf(window)]
    : fitting.map((period) => ({ least: period, most: period }));
  return believed.map(({ least, most }) => ({
    afterAt: last.afterAt + least,
    beforeAt: last.beforeAt + most,
  }));
}

/** No reset comes sooner after the latest than it ever did; epoch 0 before any was seen. */
export function earliestReset({ last, least }: Window): number {
  return last ? last.afterAt + least : 0;
}

/** When the next reset after `now` is over at the latest; null before any was seen. */
export function nextReset(window: Window, now: number): number | null {
  const [after] = expectedResets(window);
  if (!after) return null;
  const { most } = periodOf(window);
  return after.beforeAt + Math.max(0, Math.ceil((now - after.beforeAt) / most)) * most;
}

/** A little after a period that began at `since` is over: what comes back one by one shows by then. */
export function endOf(period: number, since: number): number {
  return since + period + Math.max(SECOND_MS, 0.005 * period);
}
