import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packRowids, RowidSet, unpackRowids } from '../../src/store/rowids.ts';

const number = fc.oneof(fc.integer({ min: 1, max: 2 ** 40 }), fc.integer({ min: 1, max: 300 }));

describe('the set of rows met', () => {
  it('is a set', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(number, fc.integer({ min: 1, max: 50 }))),
        fc.array(number),
        (met, others) => {
          const set = new RowidSet();
          const model = new Set<number>();
          for (const rowid of met) {
            expect(set.add(rowid)).toBe(!model.has(rowid));
            model.add(rowid);
          }
          expect(set.size).toBe(model.size);
          for (const rowid of [...met, ...others]) expect(set.has(rowid)).toBe(model.has(rowid));
          set.clear();
          expect(set.size).toBe(0);
          for (const rowid of met) expect(set.has(rowid)).toBe(false);
        },
      ),
    );
  });
});

describe('packed rowids', () => {
  const run = fc
    .record({ first: number, rows: fc.integer({ min: 1, max: 40 }), step: fc.constantFrom(1, -1) })
    .map(({ first, rows, step }) => Array.from({ length: rows }, (_, at) => first + 40 + at * step));

  it('come back as they went, in their order', () => {
    const list = fc.array(fc.oneof(run, fc.array(number, { maxLength: 5 }))).map((runs) => runs.flat());
    fc.assert(fc.property(list, (rowids) => void expect(unpackRowids(packRowids(rowids))).toEqual(rowids)));
  });

  it('take next to nothing where rows were first mirrored together, and two bytes each elsewhere', () => {
    const together = Array.from({ length: 1_000 }, (_, at) => 70_000 + at);
    const scattered = Array.from({ length: 1_000 }, (_, at) => 1 + at * 1_000);
    expect(packRowids(together).length).toBeLessThan(10);
    expect(packRowids(together.reverse()).length).toBeLessThan(10);
    expect(packRowids(scattered).length).toBeLessThan(2_010);
  });
});
