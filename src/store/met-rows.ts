/** The rows that a walk has met, as sets of rowids: one bit a row in memory, packed lists in `rows_met`. */

import type { Connection } from './connection.ts';
import { packRowids, unpackRowids } from './rowids.ts';

export type RowidSet = {
  readonly size: number;
  has(rowid: number): boolean;
  /** Returns false for a row that was there already. */
  add(rowid: number): boolean;
  clear(): void;
};

/** Rows lie in pieces, so that a table whose rowids have grown large costs what its rows do. */
const PIECE_ROWS = 2 ** 15;

export function createRowidSet(): RowidSet {
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

/** Rows of the dataset's table, and refused ones by their rowids in `quarantine`. */
export type MetRows = { rows: RowidSet; refused: RowidSet };

/** Where rows were met: as the walk read on, as it looked at the head again, or in quarantine. */
type MetPart = 'rows' | 'head' | 'refused';

/** Reads what walks have met. @param ids SQL for the numbers of these walks. */
export function readMet(connection: Connection, ids: string): MetRows {
  const met = { rows: createRowidSet(), refused: createRowidSet() };
  const commits = connection
    .prepare<[], { part: MetPart; rowids: Buffer }>(
      `SELECT part, rowids FROM rows_met WHERE walk_id IN (${ids})`,
    )
    .all();
  for (const { part, rowids } of commits)
    for (const rowid of unpackRowids(rowids)) met[part === 'refused' ? 'refused' : 'rows'].add(rowid);
  return met;
}

/** What a walk has met since its last commit, in the order in which it met it. */
type UnsavedMet = Record<MetPart, number[]>;

export const nothingMet = (): UnsavedMet => ({ rows: [], head: [], refused: [] });

/** Returns what writes that; call it in the transaction of the pages that brought it. */
export function prepareMet(connection: Connection, walkId: number): (unsaved: UnsavedMet) => void {
  const insert = connection.prepare<[number, MetPart, Buffer]>(
    'INSERT INTO rows_met (walk_id, part, rowids) VALUES (?, ?, ?)',
  );
  return (unsaved) => {
    for (const [part, rowids] of Object.entries(unsaved) as [MetPart, number[]][])
      if (rowids.length > 0) insert.run(walkId, part, packRowids(rowids));
  };
}

/** @param ids SQL for the numbers of walks. */
export function forgetMet(connection: Connection, ids: string): void {
  connection.exec(`DELETE FROM rows_met WHERE walk_id IN (${ids})`);
}
