/** A token bucket: full at first, refilled continuously. */

export type Bucket = {
  take(now: number): boolean;
  giveBack(): void;
  tokens(now: number): number;
  /** When a whole token will be there (epoch milliseconds); `now` if one is. */
  readyAt(now: number): number;
};

/** @param perMs tokens that come back each millisecond */
export function createBucket(capacity: () => number, perMs: () => number): Bucket {
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
    tokens: (now) => Math.floor(fill(now) + 1e-9),
    readyAt: (now) => now + Math.max(0, Math.ceil((1 - fill(now)) / perMs() - 1e-6)),
  };
}
