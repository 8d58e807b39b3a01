/** How long to wait before a call that got no answer is repeated. */

const FIRST_MS = 500;
const LONGEST_MS = 10_000;

/** Exponential with full jitter: between a quarter and all of the step. `roll` is a random number in [0, 1). */
export function backoffMs(attempt: number, roll: number): number {
  const step = Math.min(LONGEST_MS, FIRST_MS * 2 ** (attempt - 1));
  return step * (0.25 + 0.75 * roll);
}
