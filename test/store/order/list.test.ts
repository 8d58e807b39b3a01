import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunksOf, createListBuilder, numbersAt } from '../../../src/store/order/list.ts';
import { packNumbers, unpackNumbers } from '../../../src/store/order/runs.ts';

const number = fc.oneof(
  fc.integer({ min: 1, max: 2 ** 40 }),
  fc.integer({ min: 1, max: 300 }),
  fc.integer({ min: 1, max: 20 }),
);

function build(numbers: Iterable<number>) {
  const chunks: Buffer[] = [];
  const builder = createListBuilder((content) => chunks.push(content) - 1);
  for (const one of numbers) builder.push(one);
  const root = builder.end();
  const read = (id: number) => chunks[id] as Buffer;
  return { root, read, chunks, bytes: chunks.reduce((sum, { length }) => sum + length, 0) };
}

const rising = (from: number, count: number) => Array.from({ length: count }, (_, at) => from + at);

describe('row numbers in runs', () => {
  it('come back as they went, in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(number, number)), (numbers) => {
        expect(unpackNumbers(Buffer.from(packNumbers(numbers)))).toEqual(numbers);
      }),
    );
  });

  it('take next to nothing where they rise or fall by one', () => {
    expect(packNumbers(rising(70_000, 1_000)).length).toBeLessThan(8);
    expect(packNumbers(rising(70_000, 1_000).reverse()).length).toBeLessThan(8);
    expect(packNumbers([5, 6, 4, 5, 3, 2, 1, 9])).toHaveLength(7);
  });
});

describe('a list', () => {
  it('gives any page of its numbers', () => {
    const several = fc.oneof(
      fc.array(number, { maxLength: 40 }),
      fc.integer({ min: 300, max: 9_000 }).map((count) => rising(7, count)),
    );
    fc.assert(
      fc.property(several, fc.nat(9_500), fc.nat(400), (numbers, offset, limit) => {
        const { root, read } = build(numbers);
        expect(root?.rows ?? 0).toBe(numbers.length);
        if (root)
          expect(numbersAt(read, root.id, offset, limit)).toEqual(numbers.slice(offset, offset + limit));
        else expect(numbers).toEqual([]);
      }),
    );
  });

  it('names all of its chunks', () => {
    const { root, read, chunks } = build(rising(1, 20_000));
    expect([...chunksOf(read, root?.id ?? 0)].sort((a, b) => a - b)).toEqual([...chunks.keys()]);
  });

  it('is cut where its numbers say, so that an edit leaves nearly all chunks what they are', () => {
    const numbers = rising(1, 50_000);
    const contents = (list: number[]) => new Set(build(list).chunks.map((chunk) => chunk.toString('base64')));
    const before = contents(numbers);
    const edits = {
      head: [50_003, 50_002, 50_001, ...numbers],
      middle: numbers.toSpliced(25_000, 3),
      move: [numbers[30_000] as number, ...numbers.toSpliced(30_000, 1)],
    };
    for (const [edit, list] of Object.entries(edits)) {
      const fresh = [...contents(list)].filter((chunk) => !before.has(chunk));
      // A leaf and two nodes or three above it, in one place or two.
      expect(fresh.length, edit).toBeLessThanOrEqual(8);
    }
  });
});
