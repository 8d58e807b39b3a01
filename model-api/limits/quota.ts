/** The account quota: so many calls in a period. The specification shows neither the number nor the kind. */

import { createBucket } from './bucket.ts';

export type QuotaKind =
  /** A window that starts anew every period, on the period's grid. */
  | 'fixed'
  /** At most `limit` calls in any stretch of one period. */
  | 'sliding'
  /** Calls come back one by one, `limit` of them in a period. */
  | 'refill';

export type Quota = {
  /** Calls in a period. May be changed at any time. */
  limit: number;
  readonly periodMs: number;
  readonly kind: QuotaKind;
  /** Takes one call; false where none is left. */
  take(now: number): boolean;
  /** Undoes a `take` of time `at`. */
  giveBack(at: number, now: number): void;
  remaining(now: number): number;
  /** When a call will next be allowed (epoch milliseconds); `now` if one is. */
  readyAt(now: number): number;
  /** Spends as another client of the same account would; stops at zero. */
  spend(calls: number, now: number): void;
};

export type QuotaOptions = {
  limit: number;
  periodMs: number;
  kind?: QuotaKind;
  /** Shifts the grid of fixed windows: they begin at `phaseMs`, `phaseMs + periodMs` … since the epoch. */
  phaseMs?: number;
};

type Counter = Pick<Quota, 'take' | 'giveBack' | 'remaining' | 'readyAt'>;

export function createQuota({ limit, periodMs, kind = 'fixed', phaseMs = 0 }: QuotaOptions): Quota {
  const allowed = () => quota.limit;
  let counter: Counter;
  const quota: Quota = {
    limit,
    periodMs,
    kind,
    take: (now) => counter.take(now),
    giveBack: (at, now) => counter.giveBack(at, now),
    remaining: (now) => counter.remaining(now),
    readyAt: (now) => counter.readyAt(now),
    spend(calls, now) {
      for (let spent = 0; spent < calls && counter.take(now); spent++);
    },
  };
  counter = counters[kind](allowed, periodMs, phaseMs);
  return quota;
}

const counters: Record<QuotaKind, (limit: () => number, periodMs: number, phaseMs: number) => Counter> = {
  fixed: fixedWindow,
  sliding: slidingWindow,
  refill: (limit, periodMs) => {
    const bucket = createBucket(limit, () => limit() / periodMs);
    return { ...bucket, remaining: bucket.tokens };
  },
};

function fixedWindow(limit: () => number, periodMs: number, phaseMs: number): Counter {
  let window = Number.NaN;
  let used = 0;
  const windowAt = (time: number) => Math.floor((time - phaseMs) / periodMs);
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
    readyAt: (now) => (remaining(now) > 0 ? now : (windowAt(now) + 1) * periodMs + phaseMs),
  };
}

function slidingWindow(limit: () => number, periodMs: number): Counter {
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
