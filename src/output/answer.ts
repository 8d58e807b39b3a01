/** An answer as columns and rows, and the rows in the form of a file, some at a time: a large result needs no more memory than a small one. */

import type { Holding } from './holding.ts';

/** A value of SQLite: an integer beyond the safe ones of JavaScript is a bigint, a blob bytes. */
export type Cell = string | number | bigint | Uint8Array | null;

export type Column = {
  name: string;
  /** The declared type of the column it comes from, such as `TEXT`; null for an expression. */
  type: string | null;
  holds?: Holding;
};

/** The next rows are fetched while these are looked at. */
export type Rows = { columns: Column[]; batches: AsyncGenerator<Cell[][], void> };

export type Formatter<Piece = string> = {
  head(): Piece;
  rows(batch: readonly Cell[][]): Piece;
  tail(): Piece;
};

/** Names that are all different, as the keys of an object need to be: `id`, `id:1`. */
export function distinctNames(columns: readonly Column[]): string[] {
  const taken = new Set<string>();
  return columns.map(({ name }) => {
    let free = name;
    for (let more = 1; taken.has(free); more += 1) free = `${name}:${more}`;
    taken.add(free);
    return free;
  });
}

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/** The forms in which rows are printed. */
export const formats = ['table', 'json', 'ndjson', 'csv', 'md'] as const;
export type Format = (typeof formats)[number];
