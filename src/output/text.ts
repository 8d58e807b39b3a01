/** Numbers and times as people read them, texts in columns and in colours. */

import { stripVTControlCharacters, styleText } from 'node:util';
import ms from 'ms';

/** `1,234`. Not by `toLocaleString`, whose first call takes as long as reading the whole status. */
export const number = (value: number) => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',');

/** `row`, or `rows` unless it is one. */
export const plural = (value: number, unit: string) => (value === 1 ? unit : `${unit}s`);

const MB = 1e6;
const GB = 1e9;

/** `1.2 MB`, `34.0 GB`. */
export const bytes = (count: number) =>
  count < GB ? `${(count / MB).toFixed(1)} MB` : `${(count / GB).toFixed(1)} GB`;

/** `0s`, `3m`, `2h`: the largest unit that fits. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1_000));
  return seconds === 0 ? '0s' : ms(seconds * 1_000);
}

/** An ISO time against `now`: `3m ago`, `in 20s`; a dash where there is none. */
export function relative(time: string | null, now: number): string {
  if (time === null) return '–';
  const away = Date.parse(time) - now;
  return away > 0 ? `in ${duration(away)}` : `${duration(-away)} ago`;
}

/** Spaces between columns. */
export const GAP = 2;

export type Align = 'left' | 'right';

/** How many columns of a terminal a text takes; its colours take none. */
export type Measure = (text: string) => number;

/** For letters that take one column each, which is all that our own words are made of. */
const plainWidth: Measure = (text) => stripVTControlCharacters(text).length;

/** For letters of any language, and emoji. What knows of them takes longer to load than most answers, and few need it. */
export async function measureFor(texts: Iterable<string>): Promise<Measure> {
  for (const text of texts) if (!/^[\x20-\x7e]*$/.test(text)) return (await import('string-width')).default;
  return plainWidth;
}

/** A column of a list: its head, and what stands in it for each item. */
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
