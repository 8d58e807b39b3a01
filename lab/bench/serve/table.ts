/** Figures as they are printed, each beside its target. */

import { inColumns } from '../../../src/output/text.ts';

export type Table = { about: string; heads: string[]; rows: string[][] };

export const targetHeads = ['target', 'held'];

/** Whether a row is within its target. */
const isHeld = (row: readonly string[]) => row.at(-1) !== 'NO';

/** The last two cells of a row. */
export const atMost = (figure: number, most: number, unit = '') => [
  `≤ ${most}${unit}`,
  figure <= most ? 'yes' : 'NO',
];

export const atLeast = (figure: number, least: number) => [`≥ ${least}`, figure >= least ? 'yes' : 'NO'];

export function printTable({ about, heads, rows }: Table): void {
  const aligns = heads.map((_, at) => (at === 0 ? 'left' : 'right'));
  process.stdout.write(`\n${about}:\n${inColumns([heads, ...rows], aligns)}\n`);
}

/** Prints it, too; the process ends with 1 where a bound is broken. */
export function judgeTable(table: Table): void {
  printTable(table);
  if (table.rows.some((row) => !isHeld(row))) process.exitCode = 1;
}
