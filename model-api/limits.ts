/** The three limits of an account (specification, "Limits"): each one alone answers 429. */

import { type Counter, fixedWindow, refill, slidingWindow } from './limits/counters.ts';

export type LimitName = 'concurrency' | 'rate' | 'quota';

export type LimitOptions = {
  quota?: QuotaOptions;
  /** Calls a second, with a burst of the same size, or both. Not given: no limit. */
  rate?: number | RateOptions;
  /** Calls at the same time. Not given: no limit. */
  concurrency?: number;
};

export type RateOptions = {
  perSecond: number;
  /** Calls that may come at once after a rest; as many as come in a second if not given. */
  burst?: number;
};

/** So many calls in a period. The specification shows neither the number nor the kind. */
export type QuotaOptions = {
  limit: number;
  periodMs: number;
  kind?: QuotaKind;
  /** Shifts the grid of fixed windows: they begin at `phaseMs`, `phaseMs + periodMs` … since the epoch. */
  phaseMs?: number;
};

export type QuotaKind =
  /** A window that resets every period, on the period's grid. */
  | 'fixed'
  /** At most `limit` calls in any stretch of one period. */
  | 'sliding'
  /** Calls come back one by one, `limit` of them in a period. */
  | 'refill';

export type Quota = Counter & {
  /** Calls in a period. May be changed at any time. */
  limit: number;
  readonly periodMs: number;
  readonly kind: QuotaKind;
  /** Spends as another client of the same account would; stops at zero. */
  spend(calls: number, now: number): void;
};

export type Limits = {
  readonly quota: Quota;
  /** Calls being answered at this moment. */
  readonly inFlight: number;
  /** Asks all limits for one call; the first that refuses is named, and when it will allow one. */
  enter(now: number, costsQuota: boolean): Pass | OverLimit;
};

export type Pass = {
  /** Calls that the pool allowed in a period when this one was let in. */
  readonly limit: number;
  /** Calls left in the pool after this one. */
  readonly remaining: number;
  /** The answer is on its way: the call is no longer in flight. */
  leave(): void;
  /** The call turned out to cost nothing. */
  refund(now: number): void;
};

export type OverLimit = { readonly by: LimitName; readonly readyAt: number };

/** So large that nobody reaches it. It is there because successes of the AI signals endpoint report a quota. */
const ampleQuota: QuotaOptions = { limit: 1_000_000, periodMs: 24 * 3_600_000 };

export function createLimits(options: LimitOptions): Limits {
  const quota = createQuota(options.quota ?? ampleQuota);
  const rate = createRate(options.rate);
  const most = options.concurrency ?? Number.POSITIVE_INFINITY;
  let inFlight = 0;

  return {
    quota,
    get inFlight() {
      return inFlight;
    },
    enter(now, costsQuota) {
      if (inFlight >= most) return { by: 'concurrency', readyAt: now };
      if (rate && !rate.take(now)) return { by: 'rate', readyAt: rate.readyAt(now) };
      if (costsQuota && !quota.take(now)) return { by: 'quota', readyAt: quota.readyAt(now) };
      inFlight += 1;
      return {
        limit: quota.limit,
        remaining: quota.remaining(now),
        leave: once(() => {
          inFlight -= 1;
        }),
        refund: once((later: number) => {
          if (costsQuota) quota.giveBack(now, later);
        }),
      };
    },
  };
}

function createRate(rate: number | RateOptions | undefined): Counter | undefined {
  if (rate === undefined) return undefined;
  const { perSecond, burst } = typeof rate === 'number' ? { perSecond: rate, burst: undefined } : rate;
  const capacity = burst ?? Math.max(1, Math.ceil(perSecond));
  return refill(
    () => capacity,
    () => perSecond / 1_000,
  );
}

function createQuota({ limit, periodMs, kind = 'fixed', phaseMs = 0 }: QuotaOptions): Quota {
  // Read at every call, since `limit` may be changed.
  const pool = { limit, periodMs, kind };
  const allowed = () => pool.limit;
  const counters: Record<QuotaKind, () => Counter> = {
    fixed: () => fixedWindow(allowed, periodMs, phaseMs),
    sliding: () => slidingWindow(allowed, periodMs),
    refill: () => refill(allowed, () => pool.limit / periodMs),
  };
  const counter = counters[kind]();
  return Object.assign(pool, counter, {
    spend(calls: number, now: number) {
      for (let spent = 0; spent < calls && counter.take(now); spent++);
    },
  });
}

function once<Arguments extends unknown[]>(run: (...args: Arguments) => void) {
  let done = false;
  return (...args: Arguments) => {
    if (done) return;
    done = true;
    run(...args);
  };
}
