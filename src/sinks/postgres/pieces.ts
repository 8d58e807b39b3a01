/** Lines as the bytes that are sent, many in a piece. Each is turned into bytes at once: what lives on is a burden on V8. */

export type Pieces = {
  /** @returns the piece that was full, where one was. */
  add(line: string): readonly Buffer[];
  rest(): readonly Buffer[];
};

const PIECE_BYTES = 64 * 1024;
/** Of a unit of a string in UTF-8. */
const MOST_BYTES = 3;

export function inPieces(): Pieces {
  let piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
  let used = 0;
  const rest = () => (used > 0 ? [piece.subarray(0, used)] : []);
  return {
    rest,
    add(line) {
      const bytes = line.length * MOST_BYTES;
      if (used + bytes <= piece.length) {
        used += piece.write(line, used);
        return NONE;
      }
      const full = rest();
      piece = Buffer.allocUnsafeSlow(Math.max(PIECE_BYTES, bytes));
      used = piece.write(line);
      return full;
    },
  };
}

const NONE: readonly Buffer[] = [];
