/** Pauses between tries: the longer, the more of them failed in a row. */

export type Pauses = { firstMs: number; longestMs: number };

/** Twice as long after each failure in a row. @param failures so far, from 1. */
export function doubledMs(failures: number, { firstMs, longestMs }: Pauses): number {
  return Math.min(longestMs, firstMs * 2 ** (failures - 1));
}

/** Between a half and all of that, by `roll` in [0, 1): those that failed together must not come back together. */
export function backoffMs(failures: number, pauses: Pauses, roll: number): number {
  return doubledMs(failures, pauses) * (0.5 + roll / 2);
}
