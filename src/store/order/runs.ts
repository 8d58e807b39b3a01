/** Row numbers in any order, as runs that rise or fall by one: rows that came together take next to nothing. */

type Run = { first: number; length: number; step: 1 | -1 };

export function packNumbers(numbers: readonly number[]): number[] {
  const bytes: number[] = [];
  let last = 0;
  for (const { first, length, step } of runsOf(numbers)) {
    const kind = length === 1 ? 0 : step === 1 ? 1 : 2;
    pushNumber(bytes, zigzag(first - last) * 4 + kind);
    if (length > 1) pushNumber(bytes, length);
    last = first + (length - 1) * step;
  }
  return bytes;
}

export function unpackNumbers(packed: Buffer, from = 0, to = packed.length): number[] {
  const numbers: number[] = [];
  const next = numberReader(packed, from);
  for (let last = 0; next.at < to; ) {
    const code = next();
    const kind = code % 4;
    const length = kind === 0 ? 1 : next();
    const step = kind === 2 ? -1 : 1;
    last += unzigzag(Math.floor(code / 4));
    numbers.push(last);
    for (let more = 1; more < length; more += 1) {
      last += step;
      numbers.push(last);
    }
  }
  return numbers;
}

function runsOf(numbers: readonly number[]): Run[] {
  const runs: Run[] = [];
  let run: Run | undefined;
  for (const number of numbers) {
    const distance = run ? number - run.first : 0;
    if (run && run.length === 1 && Math.abs(distance) === 1) run.step = distance as Run['step'];
    if (run && distance === run.length * run.step) run.length += 1;
    else {
      run = { first: number, length: 1, step: 1 };
      runs.push(run);
    }
  }
  return runs;
}

/** Small numbers of either sign become small ones without: 0, -1, 1, -2 are 0, 1, 2, 3. */
const zigzag = (number: number) => (number < 0 ? -2 * number - 1 : 2 * number);
const unzigzag = (code: number) => (code % 2 === 1 ? -(code + 1) / 2 : code / 2);

/** Seven bits a byte, the lowest first; all but the last byte are marked. Good for all safe integers. */
export function pushNumber(bytes: number[], number: number): void {
  let left = number;
  for (; left >= 128; left = Math.floor(left / 128)) bytes.push((left % 128) + 128);
  bytes.push(left);
}

/** Reads one number after the other; `at` is where the next one begins. */
export function numberReader(bytes: Buffer, from: number): { (): number; at: number } {
  const read = () => {
    let value = 0;
    for (let unit = 1; ; unit *= 128) {
      const byte = bytes[read.at] ?? 0;
      read.at += 1;
      value += (byte % 128) * unit;
      if (byte < 128) return value;
    }
  };
  read.at = from;
  return read;
}
