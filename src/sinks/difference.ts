/** How the rows of a target differ from those of the mirror, in numbers and in words. */

import { number } from '../output/text.ts';

export type RowDifference = {
  /** Rows of the mirror that are not there, rows that the mirror has not, and rows with other values. */
  missing: number;
  extra: number;
  changed: number;
  /** Of some of them. */
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
