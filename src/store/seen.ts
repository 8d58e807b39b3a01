/** The rows that a walk has met, as a set of row numbers: one bit a row in memory, four bytes a row on disk. */

export type SeenRows = {
  has(rowid: number): boolean;
  /** Returns false for a row that was there already. */
  add(rowid: number): boolean;
  clear(): void;
};

const FIRST_BYTES = 1_024;

export function createSeenRows(): SeenRows {
  let bits = new Uint8Array(FIRST_BYTES);
  const has = (rowid: number) => ((bits[rowid >>> 3] ?? 0) & (1 << (rowid & 7))) !== 0;
  return {
    has,
    add(rowid) {
      if (has(rowid)) return false;
      const at = rowid >>> 3;
      if (at >= bits.length) bits = grown(bits, at + 1);
      bits[at] = (bits[at] ?? 0) | (1 << (rowid & 7));
      return true;
    },
    clear: () => void bits.fill(0),
  };
}

/** Row numbers in the form in which `walk_seen` keeps a page's. */
export function packRowids(rowids: readonly number[]): Buffer {
  return Buffer.from(Uint32Array.from(rowids).buffer);
}

export function unpackRowids(packed: Buffer): number[] {
  const aligned = new Uint8Array(packed);
  return [...new Uint32Array(aligned.buffer, 0, aligned.length / 4)];
}

function grown(bits: Uint8Array, needed: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(needed, bits.length * 2));
  larger.set(bits);
  return larger;
}
