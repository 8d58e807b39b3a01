/**
 * The limits of an account: how they are written on the command line and in the database, and what is counted against them, by
 * pure functions. Times are whole epoch milliseconds; a time before one that was counted by already counts as that one.
 */

import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../../base/clock.ts';
import { millisecondsOf } from '../../base/time.ts';

export type Limits = {
  readonly quota: Quota | null;
  readonly rate: Rate | null;
  /** Calls at the same time. */
  readonly concurrency: number | null;
};

export const quotaKinds = ['fixed', 'refill'] as const;

/** So many calls in a period. */
export type Quota = {
  readonly calls: number;
  readonly periodMs: number;
  /**
   * `fixed`: anew with every period, on the grid of the epoch. `refill`: calls come back one by one, so many in a period.
   */
  readonly kind: (typeof quotaKinds)[number];
};

/** So many calls a period, evenly; `burst` of them may come at once after a rest. */
export type Rate = { readonly calls: number; readonly periodMs: number; readonly burst: number };

export const unlimited: Limits = { quota: null, rate: null, concurrency: null };

const MAX_CALLS = 1_000_000_000;
const MAX_CONCURRENCY = 10_000;
const MAX_PERIOD_MS = 366 * DAY_MS;

/** `1000/1h`, or `1000/1h,refill`. @throws Error whose message says what is expected. */
export function parseQuota(text: string): Quota {
  const [rate = '', named = 'fixed', ...more] = text.split(',');
  const quota = readRate(rate);
  const kind = quotaKinds.find((each) => each === named);
  if (!quota || quota.burst !== undefined || !kind || more.length > 0)
    throw new Error(
      'calls in a period of 1ms to 366d, such as 1000/1h; a window that begins anew unless ,refill follows',
    );
  if (kind === 'refill') refuseTooFine(quota.calls, quota.periodMs);
  return { calls: quota.calls, periodMs: quota.periodMs, kind };
}

/** `10/1s`, or `10/1s+20` with a burst; of as many calls as a period has unless given. @throws Error as `parseQuota`. */
export function parseRate(text: string): Rate {
  const rate = readRate(text);
  if (!rate) throw new Error('calls a period, such as 10/1s, with a burst 10/1s+20');
  const { calls, periodMs, burst = calls } = rate;
  refuseTooFine(Math.max(calls, burst), periodMs);
  return { calls, periodMs, burst };
}

/** @throws Error as `parseQuota`. */
export function parseConcurrency(text: string): number {
  const most = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (most < 1 || most > MAX_CONCURRENCY)
    throw new Error(`a whole number from 1 to ${MAX_CONCURRENCY}, such as 4`);
  return most;
}

function readRate(text: string): { calls: number; periodMs: number; burst: number | undefined } | undefined {
  const [, calls, period, plus] = /^(\d{1,10})\/(\d[^+,/]*[a-z])(?:\+(\d{1,10}))?$/i.exec(text) ?? [];
  const rate = {
    calls: Number(calls),
    periodMs: millisecondsOf(period ?? '') ?? 0,
    burst: plus === undefined ? undefined : Number(plus),
  };
  const isWhole = (value: number, max: number) => Number.isInteger(value) && value >= 1 && value <= max;
  const isRate =
    isWhole(rate.calls, MAX_CALLS) &&
    isWhole(rate.periodMs, MAX_PERIOD_MS) &&
    isWhole(rate.burst ?? 1, MAX_CALLS);
  return isRate ? rate : undefined;
}

/** Calls that come back one by one are counted in whole parts, of which there must not be more than a number can hold. */
function refuseTooFine(calls: number, periodMs: number): void {
  if (calls * periodMs > Number.MAX_SAFE_INTEGER)
    throw new Error('fewer calls, or a shorter period: so many in such a time cannot be counted one by one');
}

export function renderQuota({ calls, periodMs, kind }: Quota): string {
  return `${calls}/${renderPeriod(periodMs)}${kind === 'fixed' ? '' : `,${kind}`}`;
}

export function renderRate({ calls, periodMs, burst }: Rate): string {
  return `${calls}/${renderPeriod(periodMs)}${burst === calls ? '' : `+${burst}`}`;
}

const units: readonly [ms: number, unit: string][] = [
  [DAY_MS, 'd'],
  [HOUR_MS, 'h'],
  [MINUTE_MS, 'm'],
  [1_000, 's'],
];

/** As it is read again; never rounded. */
function renderPeriod(ms: number): string {
  const [size, unit] = units.find(([length]) => ms % length === 0) ?? [1, 'ms'];
  return `${ms / size}${unit}`;
}

/** What is kept of an account between two starts; `null` where it has no such limit. */
export type AccountState = { readonly quota: CounterState | null; readonly rate: CounterState | null };

/** With the period that it was counted by: with another, or as another kind, the count begins anew. */
type CounterState = { readonly periodMs: number; readonly at: number } & (
  | { readonly kind: 'fixed'; readonly used: number }
  /** In parts of a call, `periodMs` of them to one, so that all numbers are whole and nothing is rounded. */
  | { readonly kind: 'refill'; readonly level: number }
);

/** A quota, or a rate as one that refills; `burst`: of a refill, how many calls there are after a rest. */
type CounterTerms = Quota & { readonly burst: number };

/**
 * A counter at one time: `left` calls. At `moreAt` there will next be more calls left than now; null where none was taken.
 */
type Count = {
  readonly terms: CounterTerms;
  readonly state: CounterState;
  readonly left: number;
  readonly moreAt: number | null;
};

function countAt(kept: CounterState | null, now: number, terms: CounterTerms): Count {
  const { kind, calls, periodMs, burst } = terms;
  const before = kept?.periodMs === periodMs ? kept : null;
  const at = Math.max(now, before?.at ?? now);
  switch (kind) {
    // So many calls in every window; windows begin at whole periods since the epoch.
    case 'fixed': {
      const window = Math.floor(at / periodMs);
      const isSame = before?.kind === 'fixed' && Math.floor(before.at / periodMs) === window;
      const used = isSame ? before.used : 0;
      const next = (window + 1) * periodMs;
      return {
        terms,
        state: { kind, periodMs, at, used },
        left: Math.max(0, calls - used),
        moreAt: used === 0 ? null : next,
      };
    }
    // Calls come back evenly, `calls` of them in a period, up to `burst`.
    case 'refill': {
      const full = burst * periodMs;
      const elapsed = before?.kind === 'refill' ? (at - before.at) * calls : 0;
      const level = before?.kind === 'refill' ? Math.min(full, before.level + elapsed) : full;
      const missing = periodMs - (level % periodMs);
      return {
        terms,
        state: { kind, periodMs, at, level },
        left: Math.floor(level / periodMs),
        moreAt: level < full ? at + Math.ceil(missing / calls) : null,
      };
    }
  }
}

/** Adds calls of the time `at`, or takes some away again, where that still counts. */
function addCalls(state: CounterState, at: number, calls: number, { burst }: CounterTerms): CounterState {
  const { periodMs } = state;
  switch (state.kind) {
    case 'fixed': {
      const isSame = Math.floor(at / periodMs) === Math.floor(state.at / periodMs);
      return isSame ? { ...state, used: Math.max(0, state.used + calls) } : state;
    }
    case 'refill':
      return { ...state, level: Math.min(burst * periodMs, state.level - calls * periodMs) };
  }
}

/** When so many calls, or all that there ever are, will be left, if no other call comes before. */
function readyAt({ state, terms, left }: Count, wanted: number): number {
  const { at, periodMs } = state;
  const needed = Math.min(wanted, terms.burst);
  if (left >= needed) return at;
  switch (state.kind) {
    case 'fixed':
      return (Math.floor(at / periodMs) + 1) * periodMs;
    case 'refill':
      return at + Math.ceil((needed * periodMs - state.level) / terms.calls);
  }
}

/** What both headers say where there is no quota: so many that nobody reaches it. */
export const NO_QUOTA = 1_000_000_000;

/** What responses say of the quota. */
export type QuotaAtTime = {
  /** Calls in a period. */
  readonly limit: number;
  readonly remaining: number;
  /** When there will next be more calls left (epoch milliseconds); null where none was taken. */
  readonly moreAt: number | null;
};

/** `readyAt`: when all limits will allow the call, if no other call comes before (epoch milliseconds). */
type ExceededLimit = {
  readonly limit: 'concurrency' | 'rate' | 'quota';
  readonly readyAt: number;
};

/** When a call will be over cannot be known. */
const CONCURRENCY_WAIT_MS = 1_000;

export const nothingCounted: AccountState = { quota: null, rate: null };

/**
 * Takes one call from all limits, or from none.
 * @param running calls of the account that are in flight.
 * @returns the state with it, and what refused it, if anything did.
 */
export function takeCall(
  before: AccountState,
  now: number,
  limits: Limits,
  running: number,
): { state: AccountState; exceeded: ExceededLimit | null } {
  const { quota, rate } = countAll(before, now, limits);
  const exceeded: ExceededLimit[] = [];
  if (limits.concurrency !== null && running >= limits.concurrency)
    exceeded.push({ limit: 'concurrency', readyAt: now + CONCURRENCY_WAIT_MS });
  if (rate && rate.left <= 0) exceeded.push({ limit: 'rate', readyAt: readyAt(rate, 1) });
  if (quota && quota.left <= 0) exceeded.push({ limit: 'quota', readyAt: readyAt(quota, 1) });
  const [longest = null] = exceeded.toSorted((one, other) => other.readyAt - one.readyAt);
  const take = (counted: Count | null) =>
    counted &&
    (longest === null ? addCalls(counted.state, counted.state.at, 1, counted.terms) : counted.state);
  return { state: { quota: take(quota), rate: take(rate) }, exceeded: longest };
}

/** A call that was let in costs more: takes all of that from the quota, or nothing. */
export function takeMore(
  before: AccountState,
  now: number,
  limits: Limits,
  calls: number,
): { state: AccountState; exceeded: ExceededLimit | null } {
  const { quota, rate } = countAll(before, now, limits);
  const isGranted = !quota || quota.left >= calls;
  const taken =
    quota && (isGranted ? addCalls(quota.state, quota.state.at, calls, quota.terms) : quota.state);
  return {
    state: { quota: taken, rate: rate?.state ?? null },
    exceeded: isGranted ? null : { limit: 'quota', readyAt: readyAt(quota, calls) },
  };
}

/** So many calls of the time `takenAt` were not needed: they go back to the quota, where that still counts them; the rate keeps its one. */
export function refundCalls(
  before: AccountState,
  now: number,
  limits: Limits,
  takenAt: number,
  calls: number,
): AccountState {
  const { quota, rate } = countAll(before, now, limits);
  return { quota: quota && addCalls(quota.state, takenAt, -calls, quota.terms), rate: rate?.state ?? null };
}

export function quotaAt(state: AccountState, now: number, { quota }: Limits): QuotaAtTime {
  if (!quota) return { limit: NO_QUOTA, remaining: NO_QUOTA, moreAt: null };
  const { left, moreAt } = countQuota(state, now, quota);
  return { limit: quota.calls, remaining: left, moreAt };
}

/** As of `now`, under limits that may have been changed. */
function countAll(state: AccountState, now: number, { quota, rate }: Limits) {
  return {
    quota: quota && countQuota(state, now, quota),
    rate:
      rate &&
      countAt(state.rate, now, {
        kind: 'refill',
        calls: rate.calls,
        periodMs: rate.periodMs,
        burst: rate.burst,
      }),
  };
}

const countQuota = (state: AccountState, now: number, { kind, calls, periodMs }: Quota) =>
  countAt(state.quota, now, { kind, calls, periodMs, burst: calls });

/**
 * A clock for limits: whatever is done to the clock of the machine, it never goes back and never stands still. Where that is set
 * back, it goes on by the monotonic clock, ahead of the other until that has caught up. Where that is set ahead, or the machine
 * slept, it follows, since the time may have passed.
 * @param from the latest time that was counted by before, in epoch milliseconds.
 * @returns whole epoch milliseconds.
 */
export function steadyClock(
  { now, monotonic }: Pick<Clock, 'now' | 'monotonic'>,
  from: number,
): () => number {
  let wall = now();
  let passed = monotonic();
  let ahead = Math.max(0, from - wall);
  return () => {
    const [newWall, newPassed] = [now(), monotonic()];
    const jump = newWall - wall - (newPassed - passed);
    ahead = Math.max(0, ahead - jump);
    [wall, passed] = [newWall, newPassed];
    return Math.floor(wall + ahead);
  };
}
