/** How long what was refused is left alone, in calls: each refusal makes the next trial rarer. */

/** In calls: some hours of use, after which a limit that rose has to be found. */
const MOST = 16_000;
/** From 400 calls on there are then four trials in the first 16,000. */
const TIMES = 3;

/** How many calls warrant another trial after one that was refused, where `patience` warranted that one. */
export function afterRefusal(patience: number): number {
  return Math.min(MOST, patience * TIMES);
}
