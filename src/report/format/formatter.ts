/** Rows in the form of a file, some at a time, so that a large result needs no more memory than a small one. */

import type { Cell, Column } from '../query.ts';

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
