/** The rows that a walk has met, as a set of row numbers: one bit a row in memory, four bytes a row on disk. */

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
export type Met = { rows: SeenRows; refused: SeenRows };

const REFUSED = 2 ** 31;

/** Row numbers in the form in which `walk_seen` keeps a page's. */
export function packMet(rows: readonly number[], refused: readonly number[]): Buffer {
  return Buffer.from(Uint32Array.from([...rows, ...refused.map((number) => number + REFUSED)]).buffer);
}

export function unpackMet(packed: Buffer, { rows, refused }: Met): void {
  const numbers = new Uint32Array(new Uint8Array(packed).buffer);
  for (const number of numbers) {
    if (number < REFUSED) rows.add(number);
    else refused.add(number - REFUSED);
  }
}
