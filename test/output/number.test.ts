/** Numbers as they leave the mirror, by whatever way. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Cell, numberSql } from '../../src/output/answer.ts';
import { csv, json, markdown, ndjson } from '../../src/output/forms.ts';
import { decimalsOf, valueText } from '../../src/output/numbers.ts';
import { table } from '../../src/output/table.ts';
import { Database } from '../../src/store/sqlite.ts';

const columns = [
  { name: 'n', type: 'REAL' },
  { name: 'end', type: 'TEXT' },
];

const rowsOf = (cell: Cell) => {
  async function* batches() {
    yield [[cell, 'end']];
  }
  return { columns, batches: batches() };
};

/** All but a table, which is for people. */
const forms = {
  csv: (cell: Cell) => csv(rowsOf(cell), false, { cells: 0 }),
  json: (cell: Cell) => json(rowsOf(cell)),
  ndjson: (cell: Cell) => ndjson(rowsOf(cell)),
  md: (cell: Cell) => markdown(rowsOf(cell)),
};

/** The number that stands in front of an end. */
async function written(form: keyof typeof forms, cell: Cell): Promise<string> {
  let text = '';
  for await (const piece of forms[form](cell)) text += piece;
  return /(-?[\d.]+(?:e[+-]\d+)?)[ |,"]+(?:end":")?end\b(?!.*\bend\b)/s.exec(text)?.[1] ?? text;
}

/** As `serve` writes it: JSON that SQLite makes of a column of reals. */
const database = new Database(':memory:');
database.exec('CREATE TABLE t (n REAL)');
const insert = database.prepare('INSERT INTO t VALUES (?)');
const select = database.prepare<[], string>(`SELECT json_object('n', ${numberSql('n')}) FROM t`).pluck();
function served(value: number): string {
  database.exec('DELETE FROM t');
  insert.run(value);
  return select.get()?.slice('{"n":'.length, -1) ?? '';
}

const isShort = (value: number) => Number.isInteger(value) && Math.abs(value) < 2 ** 53;

const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
const numbers = fc.oneof(
  finite,
  finite.map(Math.round),
  fc.maxSafeInteger(),
  fc.integer(),
  fc.constantFrom(
    ...[0, -0, 87, 87.5, -87, 0.1 + 0.2, 1e15, 2 ** 53 - 1, 2 ** 53, -(2 ** 53), 2 ** 63],
    ...[1e20, 1e21, 5e-324, 1e308],
  ),
);

describe('a number', () => {
  it('leaves by every way as what it is, and without a fraction where it is whole and below 2^53', async () => {
    await fc.assert(
      fc.asyncProperty(numbers, async (value) => {
        const texts = await Promise.all(
          (Object.keys(forms) as (keyof typeof forms)[]).map((form) => written(form, value)),
        );
        for (const text of [...texts, served(value)]) {
          expect(Number(text)).toBe(value + 0);
          if (isShort(value)) expect(text).toBe(String(value));
        }
        expect(new Set(texts).size).toBe(1);
      }),
    );
  });

  it('that is an integer beyond them keeps its digits', async () => {
    for (const form of Object.keys(forms) as (keyof typeof forms)[])
      expect(await written(form, 9223372036854775807n)).toBe('9223372036854775807');
  });

  it.each([
    [800126.23, '800126.23'],
    [123_456_789.123, '123456789.123'],
    [622_846.390_000_000_1, '622846.39'],
    [1.23456789, '1.23457'],
    [123_456_789.123_45, '123456789'],
    [0.000_012_345_678, '0.0000123457'],
    [-1.234_567_8e-9, '-1.23457e-9'],
    [9_007_199_254_740_991, '9007199254740991'],
    [1e21, '1e+21'],
    [9223372036854775807n, '9223372036854775807'],
  ])('%s is %s in a table, as on the page: as it is, or rounded where it is long', async (value, shown) => {
    const notes: string[] = [];
    let text = '';
    for await (const piece of table(rowsOf(value), Number.POSITIVE_INFINITY, (_, text) => text, notes))
      text += piece;
    expect(/(\S+) {2}end\n$/.exec(text)?.[1]).toBe(shown);
    if (typeof value === 'number') {
      expect(valueText(value).replaceAll(',', '')).toBe(shown);
      expect(notes.length).toBe(Number(shown) === value ? 0 : 1);
    }
  });

  it('of a column has as many digits behind the point as the others, unless it was rounded', () => {
    const shownAll = (values: number[]) => values.map((value) => valueText(value, decimalsOf(values)));
    expect(shownAll([800_126.23, 5, 10_588.7])).toEqual(['800,126.23', '5.00', '10,588.70']);
    expect(shownAll([2.5, 12_345.000_01])).toEqual(['2.5', '12,345']);
    expect(shownAll([2.5, 12_345.678_91])).toEqual(['2.5', '12,345.7']);
    expect(shownAll([2.5, 12_345.678, 0.1 + 0.2])).toEqual(['2.500', '12,345.678', '0.3']);
    expect(shownAll([2.5, 1e-9])).toEqual(['2.5', '1e-9']);
    expect(shownAll([2.5, 0.000_01])).toEqual(['2.5', '0.00001']);
  });
});
