/** How rows that ought to be alike on two sides differ, in words. */

import { number } from '../output/text.ts';

export type RowDifference = {
  missing: number;
  extra: number;
  changed: number;
  /** Some of those rows. */
  keys: readonly string[];
};

export const isDifferent = ({ missing, extra, changed }: RowDifference) => missing + extra + changed > 0;

/** Such as `2 missing, 1 with other values: sig_1, sig_2`. */
export function differenceWords({ missing, extra, changed, keys }: RowDifference): string {
  const counts = [
    [missing, 'missing'],
    [extra, 'too many'],
    [changed, 'with other values'],
  ] as const;
  const words = counts.filter(([rows]) => rows > 0).map(([rows, what]) => `${number(rows)} ${what}`);
  return words.join(', ') + (keys.length > 0 ? `: ${keys.join(', ')}` : '');
}
