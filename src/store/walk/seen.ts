/** The rows that a walk has met, as a set of row numbers: one bit a row in memory; on disk in their order, two or three bytes at most. */

import { numberReader, packNumbers, pushNumber, unpackNumbers } from '../order/runs.ts';

export type SeenRows = {
  readonly size: number;
  has(rowid: number): boolean;
  /** Returns false for a row that was there already. */
  add(rowid: number): boolean;
  clear(): void;
};

/** Rows lie in pieces, so that a table whose row numbers have grown large costs what its rows do. */
const PIECE_ROWS = 2 ** 15;

export function createSeenRows(): SeenRows {
  const pieces = new Map<number, Uint8Array>();
  let size = 0;
  return {
    get size() {
      return size;
    },
    has(rowid) {
      const { piece, at, bit } = locate(rowid);
      return ((pieces.get(piece)?.[at] ?? 0) & bit) !== 0;
    },
    add(rowid) {
      const { piece, at, bit } = locate(rowid);
      const bits = pieces.get(piece) ?? new Uint8Array(PIECE_ROWS / 8);
      const byte = bits[at] ?? 0;
      if (byte & bit) return false;
      bits[at] = byte | bit;
      pieces.set(piece, bits);
      size += 1;
      return true;
    },
    clear() {
      pieces.clear();
      size = 0;
    },
  };
}

function locate(rowid: number) {
  const within = rowid % PIECE_ROWS;
  return { piece: Math.floor(rowid / PIECE_ROWS), at: within >>> 3, bit: 1 << (within & 7) };
}

/** What a walk met: rows of the dataset's table, and refused ones by their numbers in quarantine. */
export type MetRows = { rows: SeenRows; refused: SeenRows };

/** Where a walk met rows: as it read on, or as it looked at the beginning again. */
export type Part = 'rows' | 'head';

/**
 * Row numbers in the form in which `walk_seen` keeps them, in the order in which they were met. Rows that were first mirrored
 * together take next to nothing.
 */
export function packMet(rows: readonly number[], refused: readonly number[]): Buffer {
  const packed = packNumbers(rows);
  const bytes: number[] = [];
  pushNumber(bytes, packed.length);
  return Buffer.from([...bytes, ...packed, ...packNumbers(refused)]);
}

/** The rows of the table, in the order in which they were met. */
export function unpackRows(packed: Buffer): number[] {
  const [from, to] = rowsWithin(packed);
  return unpackNumbers(packed, from, to);
}

export function unpackMet(packed: Buffer, { rows, refused }: MetRows): void {
  for (const number of unpackRows(packed)) rows.add(number);
  for (const number of unpackNumbers(packed, rowsWithin(packed)[1])) refused.add(number);
}

function rowsWithin(packed: Buffer): [from: number, to: number] {
  const next = numberReader(packed, 0);
  const length = next();
  return [next.at, next.at + length];
}
