/** The SQL that the page makes of what was chosen, run by the database that will run it. */

import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { name, type Select, select } from '../../web/sql.ts';

const hostile = `a"b'; DROP TABLE t; -- :p1`;

function rows(select_: Omit<Select, 'from'>): unknown[] {
  const database = new Database(':memory:');
  database.exec(`CREATE TABLE t (id INTEGER, text TEXT, ${name(hostile)} TEXT)`);
  const insert = database.prepare('INSERT INTO t VALUES (?, ?, ?)');
  insert.run(1, '100% sure', 'x');
  insert.run(2, 'under_score', 'y');
  insert.run(3, null, null);
  insert.run(4, 'back\\slash', 'Zürich');
  const { sql, params } = select({ columns: ['id'], from: 't', ...select_ });
  return database.prepare(sql).pluck().all(params);
}

describe('a name', () => {
  test('may hold any letters', () => {
    expect(rows({ columns: [hostile], where: [{ column: hostile, is: '=', value: 'x' }] })).toEqual(['x']);
    expect(rows({ order: [{ column: hostile, descending: true }] })).toEqual([2, 1, 4, 3]);
  });
});

describe('a condition', () => {
  test('may be one of several', () => {
    const either = [
      { column: 'id', is: '=', value: 2 },
      { column: 'text', is: 'null' },
    ] as const;
    expect(rows({ where: [{ either }, { column: 'id', is: '<', value: 4 }] })).toEqual([2, 3]);
    expect(rows({ where: [{ either: [] }] })).toEqual([]);
  });

  test.each([
    ['%', [1]],
    ['_', [2]],
    ['\\', [4]],
    ['SURE', [1]],
  ])('takes %s as it was typed', (value, found) => {
    expect(rows({ where: [{ column: 'text', is: 'contains', value }] })).toEqual(found);
    expect(rows({ where: [{ anyOf: ['id', 'text'], contains: value }] })).toEqual(found);
  });

  test('never makes SQL of a value', () => {
    expect(rows({ where: [{ column: 'text', is: '=', value: "' OR 1 = 1 --" }] })).toEqual([]);
  });

  test('finds what is empty, and what is other than something although it is empty', () => {
    expect(rows({ where: [{ column: 'text', is: 'null' }] })).toEqual([3]);
    expect(rows({ where: [{ column: 'text', is: 'not null' }] })).toEqual([1, 2, 4]);
    expect(rows({ where: [{ column: 'text', is: '<>', value: 'under_score' }] })).toEqual([1, 3, 4]);
  });

  test('goes together with others', () => {
    const where: Select['where'] = [
      { column: 'id', is: '>=', value: 2 },
      { column: 'id', is: '<', value: 4 },
      { column: 'text', is: 'starts', value: 'under' },
    ];
    expect(rows({ where })).toEqual([2]);
  });

  test('over no column finds nothing', () => {
    expect(rows({ where: [{ anyOf: [], contains: 'x' }] })).toEqual([]);
  });
});

describe('an order', () => {
  test('has what is empty last in both directions', () => {
    expect(rows({ order: [{ column: 'text' }] }).at(-1)).toBe(3);
    expect(rows({ order: [{ column: 'text', descending: true }] }).at(-1)).toBe(3);
  });

  test('is read in pages', () => {
    const order = [{ column: 'id' }];
    expect(rows({ order, limit: 2 })).toEqual([1, 2]);
    expect(rows({ order, limit: 2, offset: 2 })).toEqual([3, 4]);
  });
});
