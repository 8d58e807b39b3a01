/** The rows that a walk has met, as a set of row numbers: one bit a row in memory, a byte or two on disk. */

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

/**
 * Row numbers in the form in which `walk_seen` keeps them: sorted, each as the distance from the one before, seven
 * bits a byte. Rows that were first mirrored together take a byte each.
 */
export function packMet(rows: readonly number[], refused: readonly number[]): Buffer {
  const codes = [...rows.map((rowid) => rowid * 2), ...refused.map((number) => number * 2 + 1)];
  const bytes: number[] = [];
  let last = 0;
  for (const code of codes.sort((a, b) => a - b)) {
    let left = code - last;
    for (; left >= 128; left = Math.floor(left / 128)) bytes.push((left % 128) + 128);
    bytes.push(left);
    last = code;
  }
  return Buffer.from(bytes);
}

export function unpackMet(packed: Buffer, { rows, refused }: Met): void {
  let code = 0;
  let unit = 1;
  for (const byte of packed) {
    code += (byte % 128) * unit;
    unit *= 128;
    if (byte >= 128) continue;
    (code % 2 === 0 ? rows : refused).add(Math.floor(code / 2));
    unit = 1;
  }
}
