/** Rows as a table cut to the terminal, or one value a line where so many columns do not fit. */

import { printable } from '../printable.ts';
import { type Cell, type Column, type Formatter, hex } from './answer.ts';
import { numberText } from './number.ts';
import type { Paint } from './text.ts';
import { column, GAP, inColumns, type Measure, measureFor, widest } from './text.ts';

/** Narrower than this, a column tells nothing. */
const NARROWEST = 8;

/** `cut` is true once a value did not fit. */
export type TableFormatter = Omit<Formatter, 'tail'> & { tail(): Promise<string>; cut(): boolean };

/** @param width columns of the terminal; infinite elsewhere. */
export function tableFormatter(columns: readonly Column[], width: number, paint: Paint): TableFormatter {
  const heads = columns.map(({ name }) => printable(name));
  const rows: string[][] = [];
  const numeric = columns.map(() => true);
  let cut = false;

  return {
    head: () => '',
    rows(batch) {
      for (const row of batch) {
        row.forEach((cell, at) => {
          if (typeof cell === 'string' || cell instanceof Uint8Array) numeric[at] = false;
        });
        rows.push(row.map(toText));
      }
      return '';
    },
    async tail() {
      const measure = await measureFor([...heads, ...rows.flat()]);
      const widths = fit(
        heads.map((_, at) => widest(measure, column([heads, ...rows], at))),
        width,
      );
      const clip = (text: string, wide: number) => {
        const clipped = clipTo(measure, text, wide);
        cut ||= clipped !== text;
        return clipped;
      };
      const drawing = { heads, rows, measure, clip, paint };
      return widths === undefined ? asRecords(drawing, width) : asTable(drawing, widths, numeric);
    },
    cut: () => cut,
  };
}

function toText(cell: Cell): string {
  if (cell === null) return 'NULL';
  if (cell instanceof Uint8Array) return `x'${hex(cell)}'`;
  return typeof cell === 'string' ? printable(cell) : numberText(cell);
}

/** The widest columns give way first; undefined where even the narrowest are too many. */
function fit(natural: readonly number[], width: number): number[] | undefined {
  const available = width - GAP * (natural.length - 1);
  const capped = (cap: number) => natural.map((wide) => Math.min(wide, cap));
  const sum = (widths: readonly number[]) => widths.reduce((total, wide) => total + wide, 0);
  if (sum(natural) <= available) return [...natural];
  if (sum(capped(NARROWEST)) > available) return undefined;
  let cap = NARROWEST;
  while (sum(capped(cap + 1)) <= available) cap += 1;
  return capped(cap);
}

type Drawing = {
  heads: string[];
  rows: string[][];
  measure: Measure;
  clip(text: string, width: number): string;
  paint: Paint;
};

function asTable(
  { heads, rows, measure, clip, paint }: Drawing,
  widths: number[],
  numeric: boolean[],
): string {
  const clipped = (row: readonly string[]) => row.map((text, at) => clip(text, widths[at] ?? 0));
  const lines = [clipped(heads).map((head) => paint('bold', head)), ...rows.map(clipped)];
  const aligns = numeric.map((right) => (right ? 'right' : 'left'));
  return `${inColumns(lines, aligns, measure)}\n`;
}

/** One value a line, a block a row. */
function asRecords({ heads, rows, measure, clip, paint }: Drawing, width: number): string {
  const label = widest(measure, heads);
  return rows
    .map((row, number) => {
      const title = paint('dim', `── row ${number + 1}`);
      const lines = row.map(
        (text, at) => `${paint('bold', (heads[at] ?? '').padEnd(label))}  ${clip(text, width - label - GAP)}`,
      );
      return [title, ...lines, ''].join('\n');
    })
    .join('\n');
}

function clipTo(measure: Measure, text: string, width: number): string {
  if (measure(text) <= width) return text;
  let clipped = '';
  let taken = 0;
  for (const char of text) {
    taken += measure(char);
    if (taken > width - 1) break;
    clipped += char;
  }
  return `${clipped}…`;
}
