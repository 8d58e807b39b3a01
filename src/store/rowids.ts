/**
 * Lists of rowids, packed as runs that rise or fall by one: rows that were first mirrored together take next to nothing, others
 * two or three bytes.
 */

type RowidPacker = {
  push(rowid: number): void;
  /** The packed list; nothing may be pushed behind it. */
  end(): Buffer;
};

export function createRowidPacker(): RowidPacker {
  let bytes = Buffer.allocUnsafe(256);
  let length = 0;
  let run = { first: 0, rows: 0, step: 1 };
  let last = 0;

  /** Seven bits a byte, the lowest first; all but the last byte are marked. Good for all safe integers. */
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
    push(rowid) {
      const distance = rowid - run.first;
      if (run.rows === 1 && Math.abs(distance) === 1) run.step = distance;
      if (run.rows > 0 && distance === run.rows * run.step) run.rows += 1;
      else {
        writeRun();
        run = { first: rowid, rows: 1, step: 1 };
      }
    },
    end() {
      writeRun();
      return bytes.subarray(0, length);
    },
  };
}

export function packRowids(rowids: Iterable<number>): Buffer {
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
      const byte = packed[at] ?? 0;
      at += 1;
      value += (byte % 128) * unit;
      if (byte < 128) return value;
    }
  };
  for (let last = 0; at < packed.length; ) {
    const code = read();
    const kind = code % 4;
    const rows = kind === 0 ? 1 : read();
    const step = kind === 2 ? -1 : 1;
    const first = last + unzigzag(Math.floor(code / 4));
    last = first + (rows - 1) * step;
    for (let row = 0; row < rows; row += 1) rowids.push(first + row * step);
  }
  return rowids;
}

/** Small numbers of either sign become small ones without: 0, -1, 1, -2 are 0, 1, 2, 3. */
const zigzag = (number: number) => (number < 0 ? -2 * number - 1 : 2 * number);
const unzigzag = (code: number) => (code % 2 === 1 ? -(code + 1) / 2 : code / 2);
