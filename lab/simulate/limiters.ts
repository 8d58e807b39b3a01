/** The limits that an API may enforce, in the shapes in which they are commonly built. */

export type Limiter = {
  limit: number;
  /** Takes one call; false where none is left. */
  take(now: number): boolean;
  left(now: number): number;
  /** When a call will next be accepted; `now` if one is. */
  nextAt(now: number): number;
};

export type LimiterKind = 'fixed' | 'sliding' | 'bucket';

/** `limit` calls in `periodMs`; a bucket holds `burst` of them. */
export function createLimiter(
  kind: LimiterKind,
  limit: number,
  periodMs: number,
  phase: number,
  burst = limit,
): Limiter {
  if (kind === 'fixed') return fixedWindow(limit, periodMs, phase * periodMs);
  if (kind === 'sliding') return slidingWindow(limit, periodMs);
  return bucket(limit, periodMs, burst);
}

function fixedWindow(limit: number, periodMs: number, offset: number): Limiter {
  let window = Number.NaN;
  let used = 0;
  const turn = (now: number) => {
    const current = Math.floor((now - offset) / periodMs);
    if (current !== window) [window, used] = [current, 0];
  };
  return {
    limit,
    take(now) {
      turn(now);
      if (used >= this.limit) return false;
      used += 1;
      return true;
    },
    left(now) {
      turn(now);
      return Math.max(0, this.limit - used);
    },
    nextAt(now) {
      return this.left(now) > 0 ? now : (window + 1) * periodMs + offset;
    },
  };
}

function slidingWindow(limit: number, periodMs: number): Limiter {
  const times: number[] = [];
  let first = 0;
  const forget = (now: number) => {
    while (first < times.length && (times[first] as number) <= now - periodMs) first += 1;
  };
  return {
    limit,
    take(now) {
      if (this.left(now) <= 0) return false;
      times.push(now);
      return true;
    },
    left(now) {
      forget(now);
      return Math.max(0, this.limit - (times.length - first));
    },
    nextAt(now) {
      if (this.left(now) > 0) return now;
      return (times[times.length - this.limit] as number) + periodMs;
    },
  };
}

function bucket(limit: number, periodMs: number, burst: number): Limiter {
  let level = burst;
  let filledAt = Number.NaN;
  const share = burst / limit;
  return {
    limit,
    take(now) {
      if (this.left(now) < 1) return false;
      level -= 1;
      return true;
    },
    left(now) {
      if (!Number.isNaN(filledAt))
        level = Math.min(this.limit * share, level + (Math.max(0, now - filledAt) * this.limit) / periodMs);
      filledAt = now;
      return Math.floor(level + 1e-9);
    },
    nextAt(now) {
      return this.left(now) >= 1 ? now : now + ((1 - level) * periodMs) / this.limit + 1e-3;
    },
  };
}
