/** Rows as a table cut to the terminal, or one value a line where so many columns do not fit. */

import { printable } from '../base/printable.ts';
import { type Cell, hex, type Rows } from './answer.ts';
import { shownNumber } from './numbers.ts';
import { columnTexts, GAP, inColumns, type Measure, measureFor, type Paint, widest } from './text.ts';

/** Narrower than this, a column tells nothing. */
const NARROWEST = 8;

/** @param width columns of the terminal; infinite elsewhere. @param notes get a word where a value did not fit, or was rounded. */
export async function* table(
  { columns, batches }: Rows,
  width: number,
  paint: Paint,
  notes: string[],
): AsyncGenerator<string, void> {
  const heads = columns.map(({ name }) => printable(name));
  const numeric = columns.map(() => true);
  const rows: string[][] = [];
  let isRounded = false;
  for await (const batch of batches)
    for (const row of batch) {
      row.forEach((cell, at) => {
        if (typeof cell === 'string' || cell instanceof Uint8Array) numeric[at] = false;
      });
      rows.push(row.map(toText));
      isRounded ||= row.some((cell) => typeof cell === 'number' && shownNumber(cell) !== cell);
    }
  const measure = await measureFor([...heads, ...rows.flat()]);
  let isCut = false;
  const clip = (text: string, wide: number) => {
    const clipped = clipTo(measure, text, wide);
    isCut ||= clipped !== text;
    return clipped;
  };
  const widths = fit(
    heads.map((_, at) => widest(measure, columnTexts([heads, ...rows], at))),
    width,
  );
  yield widths ? asTable(widths) : asRecords();
  if (isCut) notes.push('some values are cut to the width of the terminal: --format json prints them whole');
  if (isRounded) notes.push('some numbers are rounded: --format json prints all their digits');

  function asTable(widths: readonly number[]): string {
    const clipped = (row: readonly string[]) => row.map((text, at) => clip(text, widths[at] ?? 0));
    const lines = [clipped(heads).map((head) => paint('bold', head)), ...rows.map(clipped)];
    const aligns = numeric.map((right) => (right ? 'right' : 'left'));
    return `${inColumns(lines, aligns, measure)}\n`;
  }

  /** One value a line, a block a row. */
  function asRecords(): string {
    const label = widest(measure, heads);
    const line = (text: string, at: number) => {
      const head = heads[at] ?? '';
      const gap = ' '.repeat(label - measure(head) + GAP);
      return `${paint('bold', head)}${gap}${clip(text, width - label - GAP)}`;
    };
    return rows
      .map((row, at) => [paint('dim', `── row ${at + 1}`), ...row.map(line), ''].join('\n'))
      .join('\n');
  }
}

function toText(cell: Cell): string {
  if (cell === null) return 'NULL';
  if (cell instanceof Uint8Array) return `x'${hex(cell)}'`;
  if (typeof cell === 'string') return printable(cell);
  return String(typeof cell === 'number' ? shownNumber(cell) : cell);
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
