/** Figures as they are shown: in Markdown, or each beside its target. */

import { inColumns } from '../src/output/text.ts';

/** The upper one of the two in the middle, where there are two. */
export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? Number.NaN;
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

export function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}

type Cell = string | number;

/** A table in Markdown: the first column to the left, all others to the right. */
export function markdownTable(heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const rule = heads.map((_, at) => (at === 0 ? '---' : '--:'));
  return [heads, rule, ...rows].map(markdownRow).join('\n');
}

/** For tables that are printed as they grow. */
export function markdownRow(cells: readonly Cell[]): string {
  return `| ${cells.join(' | ')} |`;
}

export type Table = { about: string; heads: string[]; rows: string[][] };

export const targetHeads = ['target', 'held'];

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
