/** The three limits of an account (specification, "Limits"): each one alone answers 429. */

type LimitName = 'concurrency' | 'rate' | 'quota';

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
type QuotaOptions = {
  limit: number;
  periodMs: number;
  kind?: QuotaKind;
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
  enter(now: number): Pass | OverLimit;
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

type OverLimit = { readonly by: LimitName; readonly readyAt: number };

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
    enter(now) {
      if (inFlight >= most) return { by: 'concurrency', readyAt: now };
      if (rate && !rate.take(now)) return { by: 'rate', readyAt: rate.readyAt(now) };
      if (!quota.take(now)) return { by: 'quota', readyAt: quota.readyAt(now) };
      inFlight += 1;
      return {
        limit: quota.limit,
        remaining: quota.remaining(now),
        leave: once(() => {
          inFlight -= 1;
        }),
        refund: once((later: number) => quota.giveBack(now, later)),
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

function createQuota({ limit, periodMs, kind = 'fixed' }: QuotaOptions): Quota {
  // Read at every call, since `limit` may be changed.
  const pool = { limit, periodMs, kind };
  const allowed = () => pool.limit;
  const counters: Record<QuotaKind, () => Counter> = {
    fixed: () => fixedWindow(allowed, periodMs),
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

/** One of three ways to count calls against a limit. Times are epoch milliseconds. */
export type Counter = {
  /** Takes one call; false if none is left. */
  take(now: number): boolean;
  /** Undoes a `take` of time `at`. */
  giveBack(at: number, now: number): void;
  remaining(now: number): number;
  /** When a call will next be allowed; `now` if one is. */
  readyAt(now: number): number;
};

/** So many calls in every window; windows begin at whole periods since the epoch. */
export function fixedWindow(limit: () => number, periodMs: number): Counter {
  let window = Number.NaN;
  let used = 0;
  const windowAt = (time: number) => Math.floor(time / periodMs);
  const remaining = (now: number) => {
    if (windowAt(now) !== window) {
      window = windowAt(now);
      used = 0;
    }
    return Math.max(0, limit() - used);
  };
  return {
    remaining,
    take(now) {
      if (remaining(now) === 0) return false;
      used += 1;
      return true;
    },
    giveBack(at) {
      if (windowAt(at) === window) used -= 1;
    },
    readyAt: (now) => (remaining(now) > 0 ? now : (windowAt(now) + 1) * periodMs),
  };
}

/** So many calls in any stretch of one period. */
export function slidingWindow(limit: () => number, periodMs: number): Counter {
  const taken: number[] = [];
  const remaining = (now: number) => {
    const firstInside = taken.findIndex((at) => at > now - periodMs);
    if (firstInside !== 0) taken.splice(0, firstInside === -1 ? taken.length : firstInside);
    return Math.max(0, limit() - taken.length);
  };
  return {
    remaining,
    take(now) {
      if (remaining(now) === 0) return false;
      taken.push(now);
      return true;
    },
    giveBack(at) {
      const place = taken.lastIndexOf(at);
      if (place !== -1) taken.splice(place, 1);
    },
    readyAt(now) {
      const left = remaining(now);
      return left > 0 ? now : (taken[taken.length - limit()] ?? now) + periodMs;
    },
  };
}

/** A token bucket: full at first, refilled continuously. @param perMs tokens that come back each millisecond. */
export function refill(capacity: () => number, perMs: () => number): Counter {
  let level = capacity();
  let filledAt: number | undefined;

  const fill = (now: number) => {
    level = Math.min(capacity(), level + Math.max(0, now - (filledAt ?? now)) * perMs());
    filledAt = now;
    return level;
  };

  return {
    take(now) {
      // Whole tokens come back a hair late in binary fractions: 0.1 * 10 is not always 1.
      if (fill(now) < 1 - 1e-9) return false;
      level = Math.max(0, level - 1);
      return true;
    },
    giveBack() {
      level = Math.min(capacity(), level + 1);
    },
    remaining: (now) => Math.floor(fill(now) + 1e-9),
    readyAt: (now) => now + Math.max(0, Math.ceil((1 - fill(now)) / perMs() - 1e-6)),
  };
}
