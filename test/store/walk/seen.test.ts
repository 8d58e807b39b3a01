import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSeenRows, packMet, unpackMet } from '../../../src/store/walk/seen.ts';

const number = fc.oneof(fc.integer({ min: 1, max: 2 ** 40 }), fc.integer({ min: 1, max: 300 }));

describe('the set of rows met', () => {
  it('is a set', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(number, fc.integer({ min: 1, max: 50 }))),
        fc.array(number),
        (met, others) => {
          const seen = createSeenRows();
          const model = new Set<number>();
          for (const rowid of met) {
            expect(seen.add(rowid)).toBe(!model.has(rowid));
            model.add(rowid);
          }
          expect(seen.size).toBe(model.size);
          for (const rowid of [...met, ...others]) expect(seen.has(rowid)).toBe(model.has(rowid));
          seen.clear();
          expect(seen.size).toBe(0);
          for (const rowid of met) expect(seen.has(rowid)).toBe(false);
        },
      ),
    );
  });

  it('comes back from the database as it went, rows of the table and refused ones apart', () => {
    fc.assert(
      fc.property(fc.uniqueArray(number), fc.uniqueArray(number), (rows, refused) => {
        const met = { rows: createSeenRows(), refused: createSeenRows() };
        const packed = packMet(rows, refused);
        unpackMet(packed, met);
        expect([met.rows.size, met.refused.size]).toEqual([rows.length, refused.length]);
        expect(rows.every((rowid) => met.rows.has(rowid))).toBe(true);
        expect(refused.every((number) => met.refused.has(number))).toBe(true);
      }),
    );
  });

  it('takes next to nothing for rows that were first mirrored together, and two bytes for others', () => {
    const together = Array.from({ length: 1_000 }, (_, at) => 70_000 + at);
    const scattered = Array.from({ length: 1_000 }, (_, at) => 1 + at * 1_000);
    expect(packMet(together, []).length).toBeLessThan(10);
    expect(packMet(scattered, []).length).toBeLessThan(2_010);
    expect(packMet([], together).length).toBeLessThan(10);
  });
});
