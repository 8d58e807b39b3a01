/** The rows that a walk has met, as a set of row numbers: one bit a row in memory, seldom two bytes on disk. */

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

/**
 * Row numbers in the form in which `walk_seen` keeps them: runs of neighbours, each as its distance from the one
 * before and, unless it is a single row, its length. Rows that were first mirrored together take next to nothing.
 */
export function packMet(rows: readonly number[], refused: readonly number[]): Buffer {
  const rowRuns = runsOf(rows);
  const bytes: number[] = [];
  pushNumber(bytes, rowRuns.length);
  for (const runs of [rowRuns, runsOf(refused)]) {
    let end = 0;
    for (const { first, length } of runs) {
      pushNumber(bytes, (first - end) * 2 + Number(length > 1));
      if (length > 1) pushNumber(bytes, length);
      end = first + length;
    }
  }
  return Buffer.from(bytes);
}

export function unpackMet(packed: Buffer, { rows, refused }: MetRows): void {
  let at = 0;
  const next = () => {
    const { value, after } = numberAt(packed, at);
    at = after;
    return value;
  };
  const rowRuns = next();
  let end = 0;
  for (let run = 0; at < packed.length; run += 1) {
    if (run === rowRuns) end = 0;
    const code = next();
    const first = end + Math.floor(code / 2);
    end = first + (code % 2 === 1 ? next() : 1);
    for (let number = first; number < end; number += 1) (run < rowRuns ? rows : refused).add(number);
  }
}

type Run = { first: number; length: number };

function runsOf(numbers: readonly number[]): Run[] {
  const runs: Run[] = [];
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && number === last.first + last.length) last.length += 1;
    else runs.push({ first: number, length: 1 });
  }
  return runs;
}

/** Seven bits a byte, the lowest first; all but the last byte are marked. Good for all safe integers. */
function pushNumber(bytes: number[], number: number): void {
  let left = number;
  for (; left >= 128; left = Math.floor(left / 128)) bytes.push((left % 128) + 128);
  bytes.push(left);
}

function numberAt(bytes: Buffer, from: number): { value: number; after: number } {
  let value = 0;
  let unit = 1;
  for (let at = from; ; at += 1, unit *= 128) {
    const byte = bytes[at] ?? 0;
    value += (byte % 128) * unit;
    if (byte < 128) return { value, after: at + 1 };
  }
}
