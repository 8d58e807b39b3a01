/** Texts in columns. */

import { stripVTControlCharacters } from 'node:util';

/** Spaces between columns. */
export const GAP = 2;

export type Align = 'left' | 'right';

/** How many columns of a terminal a text takes; its colours take none. */
export type Measure = (text: string) => number;

/** For letters that take one column each, which is all that our own words are made of. */
export const plainWidth: Measure = (text) => stripVTControlCharacters(text).length;

/** For letters of any language, and emoji. What knows of them takes longer to load than most answers, and few need it. */
export async function measureFor(texts: Iterable<string>): Promise<Measure> {
  for (const text of texts) if (!/^[\x20-\x7e]*$/.test(text)) return (await import('string-width')).default;
  return plainWidth;
}

/** A line a row, each column as wide as its widest text; without a line break at its end. */
export function inColumns(
  rows: readonly (readonly string[])[],
  aligns: readonly Align[],
  measure: Measure = plainWidth,
): string {
  const widths = aligns.map((_, at) => widest(measure, column(rows, at)));
  const cell = (text: string, at: number) => {
    const padding = ' '.repeat(Math.max(0, (widths[at] ?? 0) - measure(text)));
    return aligns[at] === 'right' ? padding + text : text + padding;
  };
  return rows.map((row) => row.map(cell).join(' '.repeat(GAP)).trimEnd()).join('\n');
}

export function column(rows: readonly (readonly string[])[], at: number): string[] {
  return rows.map((row) => row[at] ?? '');
}

export function widest(measure: Measure, texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, measure(text)), 0);
}
