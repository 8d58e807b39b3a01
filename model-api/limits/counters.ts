/** Three ways to count calls against a limit. Times are epoch milliseconds. */

export type Counter = {
  /** Takes one call; false if none is left. */
  take(now: number): boolean;
  /** Undoes a `take` of time `at`. */
  giveBack(at: number, now: number): void;
  remaining(now: number): number;
  /** When a call will next be allowed; `now` if one is. */
  readyAt(now: number): number;
};

/** So many calls in every window; windows begin at `phaseMs`, `phaseMs + periodMs` … */
export function fixedWindow(limit: () => number, periodMs: number, phaseMs: number): Counter {
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

/**
 * A token bucket: full at first, refilled continuously.
 * @param perMs tokens that come back each millisecond
 */
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
