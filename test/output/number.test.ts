/** Numbers as they leave the mirror, by whatever way. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Cell, numberSql } from '../../src/output/answer.ts';
import { csv, json, markdown, ndjson } from '../../src/output/forms.ts';
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

const forms = {
  table: (cell: Cell) => table(rowsOf(cell), Number.POSITIVE_INFINITY, (_, text) => text, []),
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

  it('that is none is null', () => {
    expect(database.prepare(`SELECT ${numberSql('NULL')} AS n`).get()).toEqual({ n: null });
  });
});
