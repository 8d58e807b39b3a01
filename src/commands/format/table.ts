/** Rows as a table cut to the terminal, or one value a line where so many columns do not fit. */

import Table from 'cli-table3';
import stringWidth from 'string-width';
import { printable } from '../../printable.ts';
import type { Formatter } from '../../report/format/formatter.ts';
import { hex } from '../../report/format/formatter.ts';
import type { Cell, Column } from '../../report/query.ts';
import type { Paint } from './colours.ts';

/** Narrower than this, a column tells nothing. */
const NARROWEST = 8;
const GAP = 2;

/** `cut` is true once a value did not fit. */
export type TableFormatter = Formatter & { cut(): boolean };

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
    tail() {
      const widths = fit(
        heads.map((head, at) => widest([head, ...rows.map((row) => row[at] ?? '')])),
        width,
      );
      const clip = (text: string, wide: number) => {
        const clipped = clipTo(text, wide);
        cut ||= clipped !== text;
        return clipped;
      };
      return widths === undefined
        ? asRecords(heads, rows, width, clip, paint)
        : asTable(heads, rows, widths, numeric, clip, paint);
    },
    cut: () => cut,
  };
}

function toText(cell: Cell): string {
  if (cell === null) return 'NULL';
  if (cell instanceof Uint8Array) return `x'${hex(cell)}'`;
  return typeof cell === 'string' ? printable(cell) : String(cell);
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

type Clip = (text: string, width: number) => string;

function asTable(
  heads: string[],
  rows: string[][],
  widths: number[],
  numeric: boolean[],
  clip: Clip,
  paint: Paint,
): string {
  const table = new Table({
    head: heads.map((head, at) => paint('bold', clip(head, widths[at] ?? 0))),
    style: { head: [], border: [], compact: true, 'padding-left': 0, 'padding-right': GAP },
    colAligns: numeric.map((right) => (right ? 'right' : 'left')),
    colWidths: widths.map((wide) => wide + GAP),
    chars: borderless,
  });
  for (const row of rows) table.push(row.map((text, at) => clip(text, widths[at] ?? 0)));
  return `${trimLines(table.toString())}\n`;
}

/** One value a line, a block a row. */
function asRecords(heads: string[], rows: string[][], width: number, clip: Clip, paint: Paint): string {
  const label = widest(heads);
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

function widest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, stringWidth(text)), 0);
}

function clipTo(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let clipped = '';
  let taken = 0;
  for (const char of text) {
    taken += stringWidth(char);
    if (taken > width - 1) break;
    clipped += char;
  }
  return `${clipped}…`;
}

export const trimLines = (text: string) => text.replace(/[ ]+$/gm, '');

/** For a table of cli-table3 without lines. */
export const borderless = Object.fromEntries(
  [
    ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
    ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'],
  ].map((name) => [name, '']),
);
