/**
 * Many rowids: sets of one bit a row, and packed lists of runs that rise or fall by one. In a list, rows that were first mirrored
 * together take next to nothing, others two or three bytes. Both say which rows a walk has met.
 */

import type { Connection } from './connection.ts';

/** Bits lie in pieces, so that large rowids cost no more than small ones. */
const PIECE_ROWS = 2 ** 15;

export class RowidSet {
  readonly #pieces = new Map<number, Uint8Array>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(rowid: number): boolean {
    const bits = this.#pieces.get(Math.floor(rowid / PIECE_ROWS));
    return ((bits?.[(rowid % PIECE_ROWS) >>> 3] ?? 0) & bitOf(rowid)) !== 0;
  }

  /** Returns false where it was there already. */
  add(rowid: number): boolean {
    if (this.has(rowid)) return false;
    const piece = Math.floor(rowid / PIECE_ROWS);
    const bits = this.#pieces.get(piece) ?? new Uint8Array(PIECE_ROWS / 8);
    const at = (rowid % PIECE_ROWS) >>> 3;
    bits[at] = (bits[at] ?? 0) | bitOf(rowid);
    this.#pieces.set(piece, bits);
    this.#size += 1;
    return true;
  }

  clear(): void {
    this.#pieces.clear();
    this.#size = 0;
  }
}

const bitOf = (rowid: number) => 1 << (rowid % 8);

/** Packs rowids one by one; `end` returns the list. */
export function createRowidPacker() {
  let bytes = Buffer.allocUnsafe(256);
  let length = 0;
  let run = { first: 0, rows: 0, step: 1 };
  let last = 0;

  /** Seven bits a byte, the lowest first; all but the last byte are marked. */
  function write(number: number): void {
    if (length + 8 > bytes.length) bytes = Buffer.concat([bytes, Buffer.allocUnsafe(bytes.length)]);
    let left = number;
    for (; left >= 128; left = Math.floor(left / 128)) bytes[length++] = (left % 128) + 128;
    bytes[length++] = left;
  }

  function writeRun(): void {
    const { first, rows, step } = run;
    if (rows === 0) return;
    const kind = rows === 1 ? 0 : step === 1 ? 1 : 2;
    write(zigzag(first - last) * 4 + kind);
    if (rows > 1) write(rows);
    last = first + (rows - 1) * step;
  }

  return {
    push(rowid: number): void {
      const distance = rowid - run.first;
      if (run.rows === 1 && Math.abs(distance) === 1) run.step = distance;
      if (run.rows > 0 && distance === run.rows * run.step) run.rows += 1;
      else {
        writeRun();
        run = { first: rowid, rows: 1, step: 1 };
      }
    },
    end(): Buffer {
      writeRun();
      return bytes.subarray(0, length);
    },
  };
}

export function packRowids(rowids: readonly number[]): Buffer {
  const packer = createRowidPacker();
  for (const rowid of rowids) packer.push(rowid);
  return packer.end();
}

export function unpackRowids(packed: Buffer): number[] {
  const rowids: number[] = [];
  let at = 0;
  const read = () => {
    let value = 0;
    for (let unit = 1; ; unit *= 128) {
      const byte = packed[at++] ?? 0;
      value += (byte % 128) * unit;
      if (byte < 128) return value;
    }
  };
  while (at < packed.length) {
    const code = read();
    const kind = code % 4;
    const step = kind === 2 ? -1 : 1;
    let rowid = (rowids.at(-1) ?? 0) + unzigzag(Math.floor(code / 4));
    for (let left = kind === 0 ? 1 : read(); left > 0; left -= 1, rowid += step) rowids.push(rowid);
  }
  return rowids;
}

/** Small numbers of either sign become small ones without: 0, -1, 1, -2 are 0, 1, 2, 3. */
const zigzag = (number: number) => (number < 0 ? -2 * number - 1 : 2 * number);
const unzigzag = (code: number) => (code % 2 === 1 ? -(code + 1) / 2 : code / 2);

/** What a walk has met: rows of the dataset's table, and refused ones by their rowids in `quarantine`. */
export type MetRows = { rows: RowidSet; refused: RowidSet };

/** What a walk has met since its last commit: reading on, looking at the head again, and refused. */
type UnsavedMet = Record<'rows' | 'head' | 'refused', number[]>;

export const nothingMet = (): UnsavedMet => ({ rows: [], head: [], refused: [] });

/** What walks have met. @param ids SQL for their ids. */
export function readMet(connection: Connection, ids: string): MetRows {
  const met = { rows: new RowidSet(), refused: new RowidSet() };
  const commits = connection
    .prepare<[], { part: keyof UnsavedMet; rowids: Buffer }>(
      `SELECT part, rowids FROM rows_met WHERE walk_id IN (${ids})`,
    )
    .all();
  for (const { part, rowids } of commits)
    for (const rowid of unpackRowids(rowids)) met[part === 'refused' ? 'refused' : 'rows'].add(rowid);
  return met;
}

/** Returns what writes that, within the transaction of its pages. */
export function prepareMet(connection: Connection, walkId: number): (unsaved: UnsavedMet) => void {
  const insert = connection.prepare<[number, string, Buffer]>(
    'INSERT INTO rows_met (walk_id, part, rowids) VALUES (?, ?, ?)',
  );
  return (unsaved) => {
    for (const [part, rowids] of Object.entries(unsaved))
      if (rowids.length > 0) insert.run(walkId, part, packRowids(rowids));
  };
}

/** @param ids SQL for the ids of walks. */
export function forgetMet(connection: Connection, ids: string): void {
  connection.exec(`DELETE FROM rows_met WHERE walk_id IN (${ids})`);
}
