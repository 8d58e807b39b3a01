/** How long what was refused is left alone, in calls: each refusal makes the next trial rarer. */

const MOST = 16_000;
const TIMES = 3;

/** How many calls warrant another trial after one that was refused, where `patience` warranted that one. */
export function afterRefusal(patience: number): number {
  return Math.min(MOST, patience * TIMES);
}
