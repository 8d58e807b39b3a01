/** The limits of an account: what they are, and how they are written on the command line and in the database. */

import { DAY_MS } from '../../clock.ts';
import { millisecondsOf } from '../../schedule.ts';

export type Limits = {
  readonly quota: Quota | null;
  readonly rate: Rate | null;
  /** Calls at the same time. */
  readonly concurrency: number | null;
};

export const quotaKinds = ['fixed', 'sliding', 'refill'] as const;

/** So many calls in a period. */
export type Quota = {
  readonly calls: number;
  readonly periodMs: number;
  /**
   * `fixed`: anew with every period, on the grid of the epoch. `sliding`: in any stretch of one period. `refill`: calls come
   * back one by one, so many in a period.
   */
  readonly kind: (typeof quotaKinds)[number];
};

/** So many calls a period, evenly; `burst` of them may come at once after a rest. */
export type Rate = { readonly calls: number; readonly periodMs: number; readonly burst: number };

export const unlimited: Limits = { quota: null, rate: null, concurrency: null };

const MAX_CALLS = 1_000_000_000;
const MAX_CONCURRENCY = 10_000;
const MAX_PERIOD_MS = 366 * DAY_MS;

/** `1000/1h`, with `,sliding` or `,refill`. @throws Error whose message says what is expected. */
export function parseQuota(text: string): Quota {
  const [rate = '', kind = 'fixed', ...more] = text.split(',');
  const quota = readRate(rate);
  if (!quota || quota.burst !== undefined || !isQuotaKind(kind) || more.length > 0)
    throw new Error(
      'calls in a period of 1ms to 366d, such as 1000/1h; a window that begins anew unless ,sliding or ,refill follows',
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

export function renderQuota({ calls, periodMs, kind }: Quota): string {
  return `${calls}/${renderPeriod(periodMs)}${kind === 'fixed' ? '' : `,${kind}`}`;
}

export function renderRate({ calls, periodMs, burst }: Rate): string {
  return `${calls}/${renderPeriod(periodMs)}${burst === calls ? '' : `+${burst}`}`;
}

function readRate(text: string) {
  const [, calls = '', period = '', burst] = /^(\d{1,10})\/(\d[^+,/]*)(?:\+(\d{1,10}))?$/.exec(text) ?? [];
  const periodMs = millisecondsOf(/[a-z]$/i.test(period) ? period : '');
  const isWhole = (number: number) => Number.isInteger(number) && number >= 1;
  const isCount = (number: number) => isWhole(number) && number <= MAX_CALLS;
  if (!isCount(Number(calls)) || !isWhole(periodMs ?? 0) || (periodMs ?? 0) > MAX_PERIOD_MS) return undefined;
  if (burst !== undefined && !isCount(Number(burst))) return undefined;
  return {
    calls: Number(calls),
    periodMs: periodMs ?? 0,
    burst: burst === undefined ? undefined : Number(burst),
  };
}

/** Calls that come back one by one are counted in whole parts, of which there must not be more than a number can hold. */
function refuseTooFine(calls: number, periodMs: number): void {
  if (calls * periodMs > Number.MAX_SAFE_INTEGER)
    throw new Error('fewer calls, or a shorter period: so many in such a time cannot be counted one by one');
}

function isQuotaKind(text: string): text is Quota['kind'] {
  return (quotaKinds as readonly string[]).includes(text);
}

const units: readonly [ms: number, unit: string][] = [
  [DAY_MS, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
  [1, 'ms'],
];

/** As it is read again; never rounded. */
export function renderPeriod(ms: number): string {
  const [size, unit] = units.find(([length]) => ms % length === 0) ?? [1, 'ms'];
  return `${ms / size}${unit}`;
}
