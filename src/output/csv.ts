/** Rows as CSV (RFC 4180, lines end in LF): null is empty, an empty text is `""`. */

import { stringify } from 'csv-stringify/sync';
import { type Cell, type Column, type Formatter, hex } from './answer.ts';
import { numberText } from './number.ts';

export type CsvFormatter = Formatter & {
  /** How many cells got an apostrophe so far. */
  defused(): number;
};

/**
 * What a spreadsheet takes for a formula, but for plain signed numbers, which are what they look like. It begins a cell, or
 * what follows a semicolon, a tab or a line break: some spreadsheets begin a cell there as well, quotes or not.
 */
const formula = /(?:^(?=[\t\r])|(?<=^|[;\t\r\n])(?=[=+\-@＝＋－＠]))(?![+-]?\d+(?:\.\d+)?(?:[;\t\r\n]|$))/g;

/**
 * @param exact false puts an apostrophe before texts that a spreadsheet would run as formulas. Data of others
 * must not run on the machine of whoever opens a report; `exact` is for programs, which run nothing.
 */
export function csvFormatter(columns: readonly Column[], exact: boolean): CsvFormatter {
  let defused = 0;
  const write = (records: unknown[][]) => stringify(records, { cast: { string: quoteEmpty } });
  const toText = (cell: Cell): string | null => {
    // A line without anything would be skipped by whoever reads it.
    if (cell === null) return columns.length > 1 ? null : '';
    if (typeof cell !== 'string') return cell instanceof Uint8Array ? hex(cell) : numberText(cell);
    const safe = exact ? cell : cell.replace(formula, "'");
    if (safe !== cell) defused += 1;
    return safe;
  };
  return {
    head: () => write([columns.map(({ name }) => toText(name))]),
    rows: (batch) => write(batch.map((row) => row.map(toText))),
    tail: () => '',
    defused: () => defused,
  };
}

const quoteEmpty = (text: string) => (text === '' ? { value: '', quoted_empty: true } : text);
