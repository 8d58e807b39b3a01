/** Figures of the service as they are printed, each beside its target. */

export type Table = { about: string; heads: string[]; rows: string[][] };

export const targetHeads = ['target', 'held'];

/** Whether a row is within its target. */
export const isHeld = (row: readonly string[]) => row.at(-1) !== 'NO';

/** The last two cells of a row. */
export const atMost = (figure: number, most: number, unit = '') => [
  `≤ ${most}${unit}`,
  figure <= most ? 'yes' : 'NO',
];

export const atLeast = (figure: number, least: number) => [`≥ ${least}`, figure >= least ? 'yes' : 'NO'];
