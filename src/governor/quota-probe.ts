/** When a pool at its reserve is worth one call, to see whether more came. */

import { driftPace, mostProbes, type Quota } from './quota.ts';
import {
  type Bracket,
  common,
  earliestReset,
  endOf,
  expectedResets,
  isSure,
  periodOf,
  usual,
  type Window,
} from './window.ts';

/** The shortest period that people choose. */
const SHORTEST_GAP_MS = 1_000;
const DAY_MS = 86_400_000;
/** A larger quota that was bought is noticed after so long at the latest: ten refusals a month. */
const MOST_GAP_MS = 3 * DAY_MS;
/**
 * What others take is only reckoned. Where the API last told of more than a tenth of the pool beside the reserve, one
 * call goes to see after so long. Of less it would be refused in each period in which the reckoning was right.
 */
const LONGEST_FOR_OTHERS_MS = 60_000;

/**
 * Calls kept back, so that seeing whether the quota resets need not mean being refused. Every quota probe is a
 * real call, so that the reserve costs nothing while it is spent on looking.
 */
export function reserveOf({ source, limit, window }: Quota): number {
  if (source !== 'header' || limit === null) return 0;
  if (!isSure(window)) return mostProbes(limit);
  const toFindTheMoment = isNarrow(window) ? Math.min(4, Math.max(1, Math.ceil(0.005 * limit))) : 4;
  return toFindTheMoment + Math.min(Math.floor(periodOf(window).most / MOST_GAP_MS), Math.floor(0.1 * limit));
}

/** Whether the moment of the reset is known as well as the period. */
function isNarrow(window: Window): boolean {
  const { last } = window;
  return last !== null && last.beforeAt - last.afterAt <= 0.1 * periodOf(window).most;
}

/**
 * When the next quota probe goes: when one is due, by the trickle, by the period, or else the less often the longer nothing came; and at least
 * every few days, since a larger quota may have been bought.
 */
export function nextQuotaProbe(quota: Quota): number {
  if (quota.dueAt !== null) return quota.dueAt;
  const looked = Math.max(quota.asOfAt, quota.probedAt);
  const reserve = reserveOf(quota);
  const level = quota.level ?? 0;
  const isAmple = level > reserve + 0.1 * (quota.limit ?? 0);
  const pace = driftPace(quota);
  if (pace > 0) return looked + Math.min(longestGap(quota), Math.max(100, (reserve + 1 - level) / pace));
  const most = isAmple ? LONGEST_FOR_OTHERS_MS : longestGap(quota);
  return Math.min(looked + most, byPeriod(quota, looked));
}

/** A larger quota may have been bought; where only a refusal would tell, that is worth asking less often. */
function longestGap(quota: Quota): number {
  if (!isFree(quota)) return MOST_GAP_MS;
  return Math.min(MOST_GAP_MS, Math.max(DAY_MS, 0.1 * periodOf(quota.window).most));
}

function byPeriod(quota: Quota, looked: number): number {
  const { periods } = mannerOf(quota);
  const expected = expectedResets(quota.window, periods).find(({ beforeAt }) => beforeAt > looked);
  const patient = Math.max(patiently(quota, looked), earliestReset(quota.window));
  if (!expected) return isSure(quota.window) ? Math.min(patient, overdue(quota, looked)) : patient;
  const next = within(expected, quota, looked);
  if (isSure(quota.window)) return next;
  return Math.min(
    next,
    isFree(quota) ? patient : looked + 2 * Math.max(stillFor(quota, looked), quota.window.least),
  );
}

/** The moments between which a reset is expected are searched from the first to the last. */
function within({ afterAt, beforeAt }: Bracket, quota: Quota, looked: number): number {
  const width = beforeAt - afterAt;
  const { least } = periodOf(quota.window);
  if (width <= Math.max(SHORTEST_GAP_MS / 2, 0.01 * least)) return beforeAt;
  // A refusal for each period that may be is enough.
  const away = afterAt - (quota.window.last?.afterAt ?? 0);
  if (!isFree(quota) && !isSure(quota.window) && width <= 0.25 * away) return beforeAt;
  return Math.min(beforeAt, Math.max(afterAt, looked) + width * mannerOf(quota).step);
}

/** A period that begins with its first call is over a little later than expected. */
function overdue({ window }: Quota, looked: number): number {
  const [expected] = expectedResets(window);
  return looked + Math.max(SHORTEST_GAP_MS, expected ? looked - expected.beforeAt : 0);
}

/** Nothing is known of the period: at the usual ones since the pool was first used, and in between. */
function patiently(quota: Quota, looked: number): number {
  const { periods, soonest, latest } = mannerOf(quota);
  // A pool that stood still for long once does not reset at every moment.
  const pace = Math.max(stillFor(quota, looked), 0.5 * quota.window.least);
  const gap = (times: number) => looked + Math.max(SHORTEST_GAP_MS, times * pace);
  const ends = periods.map((period) => endOf(period, quota.window.quietSinceAt));
  return Math.min(gap(latest), ends.find((end) => end >= gap(soonest)) ?? Number.POSITIVE_INFINITY);
}

/** How long nothing came. Longer than a period it did come, in portions too small to be told from our own probes. */
function stillFor({ surgedAt, window }: Quota, looked: number): number {
  return Math.min(looked - surgedAt, window.most ?? Number.POSITIVE_INFINITY);
}

/**
 * For which periods to probe; at what multiples of the time without more, at the soonest and the latest, while
 * nothing is known; and after which parts of the time in which more is expected.
 */
type Manner = { periods: readonly number[]; soonest: number; latest: number; step: number };

const FREELY: Manner = { periods: usual, soonest: 0.05, latest: 0.35, step: 0.25 };
const SPARINGLY: Manner = { periods: common, soonest: 0.1, latest: 5, step: 0.4 };
/** Where no header ever told of a reset; once the period is bounded, it may be one that is chosen less often. */
const BLINDLY: Manner = { ...SPARINGLY, soonest: 0.35 };
const BOUNDED: Manner = { ...BLINDLY, periods: usual };

function mannerOf(quota: Quota): Manner {
  if (quota.source === 'header') return isFree(quota) ? FREELY : SPARINGLY;
  return quota.window.most === null ? BLINDLY : BOUNDED;
}

/** A quota probe from the reserve costs nothing, one that is refused does. */
function isFree({ source, level }: Quota): boolean {
  return source === 'header' && (level ?? 0) > 0;
}
