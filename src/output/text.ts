/** Texts in columns and in colours. */

import { stripVTControlCharacters, styleText } from 'node:util';

/** Spaces between columns. */
export const GAP = 2;

type Align = 'left' | 'right';

/** How many columns of a terminal a text takes; its colours take none. */
export type Measure = (text: string) => number;

/** For letters that take one column each. */
const plainWidth: Measure = (text) => stripVTControlCharacters(text).length;

/** For letters of any language, and emoji. The package is loaded only where it is needed: that takes longer than most answers. */
export async function measureFor(texts: Iterable<string>): Promise<Measure> {
  for (const text of texts) if (!/^[\x20-\x7e]*$/.test(text)) return (await import('string-width')).default;
  return plainWidth;
}

/** A column of a table of items. */
export type TableColumn<Item> = { name: string; align?: Align; cell(item: Item): string; total?: string };

/** The items as a table, a line each, and a line of totals where a column has one; without a line break at its end. */
export function renderTable<Item>(
  columns: readonly TableColumn<Item>[],
  items: readonly Item[],
  paint: Paint,
): string {
  const lines = [
    columns.map(({ name }) => paint('dim', name)),
    ...items.map((item) => columns.map(({ cell }) => cell(item))),
  ];
  if (columns.some(({ total }) => total !== undefined)) lines.push(columns.map(({ total = '' }) => total));
  return inColumns(
    lines,
    columns.map(({ align = 'left' }) => align),
  );
}

/** A line a row, each column as wide as its widest text; without a line break at its end. */
export function inColumns(
  rows: readonly (readonly string[])[],
  aligns: readonly Align[],
  measure: Measure = plainWidth,
): string {
  const widths = aligns.map((_, at) => widest(measure, columnTexts(rows, at)));
  const cell = (text: string, at: number) => {
    const padding = ' '.repeat(Math.max(0, (widths[at] ?? 0) - measure(text)));
    return aligns[at] === 'right' ? padding + text : text + padding;
  };
  return rows.map((row) => row.map(cell).join(' '.repeat(GAP)).trimEnd()).join('\n');
}

export function columnTexts(rows: readonly (readonly string[])[], at: number): string[] {
  return rows.map((row) => row[at] ?? '');
}

export function widest(measure: Measure, texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, measure(text)), 0);
}

type Style = Parameters<typeof styleText>[0];
export type Paint = (style: Style, text: string) => string;

/** A terminal says itself what it can show, and honours NO_COLOR and TERM. */
export function paintFor(output: { isTTY?: boolean; hasColors?(): boolean }): Paint {
  const coloured = output.isTTY && (output.hasColors?.() ?? true);
  return coloured ? (style, text) => styleText(style, text, { validateStream: false }) : (_, text) => text;
}
