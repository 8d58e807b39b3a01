/** A dataset on paper: rows are names, and it knows which of them were there throughout. */

import { integer, type Random, shuffled } from '../../../model-api/index.ts';

export type PaperDataset = {
  readonly rows: readonly string[];
  /** Published with every edit of a dated dataset. */
  readonly generatedAt: string;
  insert(at: number): void;
  remove(at: number): void;
  move(from: number, to: number): void;
  shuffle(): void;
  /** The rows there since the last call of this. */
  throughout(): string[];
};

export function createDataset(count: number, random: Random): PaperDataset {
  let made = 0;
  const name = () => {
    made += 1;
    return `row ${made}`;
  };
  let rows = Array.from({ length: count }, name);
  let atFirst = rows.slice();
  let gone = new Set<string>();
  let edits = 0;
  const edit = (change: () => void) => {
    edits += 1;
    change();
  };
  return {
    get rows() {
      return rows;
    },
    get generatedAt() {
      return new Date(edits * 1_000).toISOString();
    },
    insert: (at) => edit(() => void rows.splice(at, 0, name())),
    remove: (at) =>
      edit(() => {
        for (const row of rows.splice(at, 1)) gone.add(row);
      }),
    move: (from, to) => edit(() => void rows.splice(to, 0, ...rows.splice(from, 1))),
    shuffle: () =>
      edit(() => {
        rows = shuffled(rows, random);
      }),
    throughout() {
      const stayed = atFirst.filter((row) => !gone.has(row));
      atFirst = rows.slice();
      gone = new Set();
      return stayed;
    },
  };
}

export const anywhere = (rows: readonly unknown[], random: Random) => integer(random, 0, rows.length - 1);
