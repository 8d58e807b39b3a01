/** When a pool at its reserve is worth a quota probe: one request, to see whether more calls came. */

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../clock.ts';
import { mostProbes, type Quota, unexplainedRate } from './quota.ts';
import {
  type Bracket,
  commonPeriods,
  earliestReset,
  endOf,
  expectedResets,
  isSure,
  periodOf,
  usualPeriods,
} from './quota-period.ts';

/** The shortest period that people choose. */
const SHORTEST_GAP_MS = 1_000;
/** Between two probes from a trickle, in milliseconds: as often as a second process may ask. */
const SHORTEST_TRICKLE_MS = 100;
/** A larger quota that was bought is noticed after so long at the latest: ten refusals a month. */
const LONGEST_GAP_MS = 3 * DAY_MS;
/**
 * The use of others is only reckoned. Where the API last reported more than a tenth of the pool beside the reserve, one
 * request goes to see after so long. With less it would be refused in each period in which the reckoning was right.
 */
const LONGEST_FOR_OTHERS_MS = MINUTE_MS;

/** Datasets are meant to be minutes old, an hour at most. */
const LONG_WAIT_MS = HOUR_MS;

/** For which periods to probe, and how often. */
type ProbeTiming = {
  periods: readonly number[];
  /** While nothing is known: at what multiples of the time without more, at the soonest and the latest. */
  soonest: number;
  latest: number;
  /** The part of the time in which a reset is expected that lies between two probes. */
  step: number;
};

/** From the reserve: a probe costs nothing, so three or more go while the time without more doubles. */
const freely: ProbeTiming = { periods: usualPeriods, soonest: 0.05, latest: 0.35, step: 0.25 };
/** Each probe is refused until more comes: few, for the periods that are mostly chosen. */
const sparingly: ProbeTiming = { periods: commonPeriods, soonest: 0.1, latest: 5, step: 0.4 };
/** Where no header ever told of a reset; once the period is bounded, it may be one that is chosen less often. */
const blindly: ProbeTiming = { ...sparingly, soonest: 0.35 };
const bounded: ProbeTiming = { ...blindly, periods: usualPeriods };

function timingOf(quota: Quota): ProbeTiming {
  if (quota.source === 'header') return isFree(quota) ? freely : sparingly;
  return quota.window.most === null ? blindly : bounded;
}

/** A quota probe from the reserve costs nothing, one that is refused does. */
function isFree({ source, level }: Quota): boolean {
  return source === 'header' && (level ?? 0) > 0;
}

/**
 * Calls kept back, so that seeing whether the quota resets need not mean being refused. Every quota probe is a
 * real request, so that the reserve is spent and not lost.
 */
export function reserveOf({ source, limit, window }: Quota): number {
  if (source !== 'header' || limit === null) return 0;
  if (!isSure(window)) return mostProbes(limit);
  const { last } = window;
  const { most } = periodOf(window);
  // One probe, and more of a large pool, where the moment of the reset is known to a tenth of the period.
  const isNarrow = last !== null && last.beforeAt - last.afterAt <= 0.1 * most;
  const toFindTheMoment = isNarrow ? Math.min(4, Math.max(1, Math.ceil(0.005 * limit))) : 4;
  return toFindTheMoment + Math.min(Math.floor(most / LONGEST_GAP_MS), Math.floor(0.1 * limit));
}

/**
 * When the next quota probe goes: when one is due, by the trickle, by the period, or else the less often the longer
 * nothing came; and at least every few days, since a larger quota may have been bought.
 */
export function nextQuotaProbe(quota: Quota): number {
  if (quota.probeDueAt !== null) return quota.probeDueAt;
  const probed = Math.max(quota.asOfAt, quota.probedAt);
  const reserve = reserveOf(quota);
  const level = quota.level ?? 0;
  const trickle = unexplainedRate(quota);
  if (trickle > 0) {
    const untilOne = Math.max(SHORTEST_TRICKLE_MS, (reserve + 1 - level) / trickle);
    return probed + Math.min(LONGEST_GAP_MS, untilOne);
  }
  const isAmple = level > reserve + 0.1 * (quota.limit ?? 0);
  const longest = isAmple ? LONGEST_FOR_OTHERS_MS : LONGEST_GAP_MS;
  return Math.min(probed + longest, byPeriod(quota, probed));
}

function byPeriod(quota: Quota, probed: number): number {
  const { window } = quota;
  const isKnown = isSure(window);
  const expected = expectedResets(window, timingOf(quota).periods).find(({ beforeAt }) => beforeAt > probed);
  const patient = Math.max(patiently(quota, probed), earliestReset(window));
  if (!expected) return isKnown ? Math.min(patient, overdue(quota, probed)) : patient;
  const next = within(expected, quota, probed);
  if (isKnown) return next;
  return Math.min(
    next,
    isFree(quota) ? patient : probed + 2 * Math.max(stillFor(quota, probed), window.least),
  );
}

/** The moments between which a reset is expected are searched from the first to the last. */
function within({ afterAt, beforeAt }: Bracket, quota: Quota, probed: number): number {
  const { window } = quota;
  const width = beforeAt - afterAt;
  // A hundredth of the period, or half a second, is as near as is worth a probe.
  if (width <= Math.max(SHORTEST_GAP_MS / 2, 0.01 * periodOf(window).least)) return beforeAt;
  // A refusal for each period that may be is enough, where the search is short beside the period (a quarter).
  const away = afterAt - (window.last?.afterAt ?? 0);
  if (!isFree(quota) && !isSure(window) && width <= 0.25 * away) return beforeAt;
  return Math.min(beforeAt, Math.max(afterAt, probed) + width * timingOf(quota).step);
}

/** A period that begins with its first call is over a little later than expected. */
function overdue({ window }: Quota, probed: number): number {
  const [expected] = expectedResets(window);
  return probed + Math.max(SHORTEST_GAP_MS, expected ? probed - expected.beforeAt : 0);
}

/** The next probe where nothing is known of the period: at the ends of usual periods since the pool was first used, and in between. */
function patiently(quota: Quota, probed: number): number {
  const { periods, soonest, latest } = timingOf(quota);
  // A pool that did not rise for long once does not reset at every moment.
  const still = Math.max(stillFor(quota, probed), 0.5 * quota.window.least);
  const gap = (times: number) => probed + Math.max(SHORTEST_GAP_MS, times * still);
  const ends = periods.map((period) => endOf(period, quota.window.quietSinceAt));
  const endFrom = (moment: number) => ends.find((end) => end >= moment) ?? Number.POSITIVE_INFINITY;
  const next = Math.min(gap(latest), endFrom(gap(soonest)));
  // The probe skips an end that comes too soon. But a refusal costs less than a very long wait.
  return next - probed <= LONG_WAIT_MS ? next : Math.min(next, Math.max(endFrom(probed), gap(soonest)));
}

/** For how long the pool has not risen. Within a period it has risen, perhaps by portions too small to tell from our own probes. */
function stillFor({ surgedAt, window }: Quota, probed: number): number {
  return Math.min(probed - surgedAt, window.most ?? Number.POSITIVE_INFINITY);
}
