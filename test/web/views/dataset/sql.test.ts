/** The SQL of pages, counts and charts, tried in a database. */

import { beforeAll, describe, expect, test } from 'vitest';
import { Database } from '../../../../src/store/sqlite.ts';
import type { Comparison, Sql } from '../../../../web/sql.ts';
import {
  bucketsFor,
  chartSql,
  endOf,
  extentSql,
  suitingBucket,
} from '../../../../web/views/dataset/chart-sql.ts';
import { columnsOf } from '../../../../web/views/dataset/columns.ts';
import {
  countSql,
  cutsOf,
  facetSql,
  fastWhere,
  type Listing,
  pageSql,
  plainSql,
  wholeSql,
} from '../../../../web/views/dataset/rows-sql.ts';
import { conditionsOf } from '../../../../web/views/dataset/view-state.ts';

const db = new Database(':memory:');
const all = ({ sql, params }: Sql) => db.prepare<[typeof params], unknown[]>(sql).raw().all(params);

const LONG = `${'x'.repeat(400)}\u0000${'y'.repeat(800)}`;

beforeAll(() => {
  db.exec(`CREATE TABLE news (_body TEXT NOT NULL, _key TEXT PRIMARY KEY, _changed_at TEXT,
    title GENERATED ALWAYS AS (json_extract(_body, '$.title')) VIRTUAL,
    "a""b" GENERATED ALWAYS AS (json_extract(_body, '$.n')) VIRTUAL,
    at GENERATED ALWAYS AS (json_extract(_body, '$.at')) VIRTUAL)`);
  const insert = db.prepare('INSERT INTO news (_body, _key, _changed_at) VALUES (?, ?, ?)');
  const rows = [
    ['{"title":"Bitcoin rises","n":1,"at":"2026-11-16T10:00:00Z"}', 'k1', '2026-11-20'],
    ['{"title":"Caf\\u00e9 prices","n":2,"at":"2026-11-22T23:30:00Z"}', 'k2', '2026-11-22'],
    ['{"title":"100% of bitcoin","n":null,"at":null}', 'k3', '2026-11-21'],
    [JSON.stringify({ title: LONG, n: 9 }), 'k4', '2026-11-19'],
    ['{"title":"another","n":1e2,"at":null}', 'k5', '2026-11-18'],
    ['{"title":true,"n":1e999,"at":null}', 'k6', '2026-11-17'],
  ];
  for (const row of rows) insert.run(row);
});

const listing: Listing = {
  table: 'news',
  columns: ['title', 'a"b'],
  where: [],
  order: [{ column: '_changed_at', descending: true }],
  identity: ['_key'],
  isRead: true,
};
const keysOf = (rows: unknown[][]) => rows.map(([key]) => key);

describe('a page of rows', () => {
  test('is in order, and goes on where the one before ended', () => {
    expect(keysOf(all(pageSql(listing, 2, 0)))).toEqual(['k2', 'k3']);
    expect(keysOf(all(pageSql(listing, 2, 2)))).toEqual(['k1', 'k4']);
  });

  test('holds the beginning of long values, and says how long they are', () => {
    const [key, cut, title, number] = all(pageSql(listing, 1, 3))[0] ?? [];
    expect([key, title, number]).toEqual(['k4', 'x'.repeat(300), 9]);
    expect(cutsOf(cut)).toEqual(new Map([[0, 1_201]]));
    expect(all(wholeSql('news', 'title', { _key: 'k4' }))).toEqual([[LONG]]);
  });

  test('has the same rows as the SQL that one is shown', () => {
    const where = [{ anyOf: ['title'], contains: 'bitcoin' }];
    expect(keysOf(all(plainSql({ ...listing, where }, ['title'])))).toEqual(
      keysOf(all(pageSql({ ...listing, where }, 10, 0))),
    );
  });
});

test('the values of columns are counted in the rows that are found, the most frequent first', () => {
  const where = [{ anyOf: ['title'], contains: 'a' }];
  expect(all(facetSql({ ...listing, where }, ['at', 'a"b']))).toEqual([
    [0, null, 1],
    [0, '2026-11-22T23:30:00Z', 1],
    [1, 2, 1],
    [1, 100, 1],
  ]);
});

test('the filters of a column do not narrow its own values', () => {
  const where = [
    { anyOf: ['title'], contains: 'bitcoin' },
    { column: 'a"b', is: '=' as const, value: 1 },
  ];
  expect(all(facetSql({ ...listing, where }, ['at', 'a"b']))).toEqual([
    [0, '2026-11-16T10:00:00Z', 1],
    [1, null, 1],
    [1, 1, 1],
  ]);
});

describe('a search', () => {
  const search = (text: string, anyOf = ['title']) => {
    const where = [
      { anyOf, contains: text },
      { column: '_key', is: '<>' as const, value: 'none' },
    ];
    const found = keysOf(all(pageSql({ ...listing, where }, 10, 0)));
    expect(all(countSql({ ...listing, where }))).toEqual([[found.length]]);
    return found;
  };

  test('finds what the body holds otherwise than the column', () => {
    expect(search('Café')).toEqual(['k2']);
    expect(search('bitcoin')).toEqual(['k3', 'k1']);
    expect(search('100%')).toEqual(['k3']);
  });

  test('finds a key that the body does not hold, such as a digest', () => {
    expect(search('k5', ['_key', 'title'])).toEqual(['k5']);
    expect(search('bitcoin', ['_key', 'title'])).toEqual(['k3', 'k1']);
  });

  test('finds numbers and truth values as they are shown, not as the body writes them', () => {
    expect(search('100.0', ['a"b'])).toEqual(['k5']);
    expect(search('Inf', ['a"b'])).toEqual(['k6']);
    expect(search('1', ['title', 'a"b'])).toEqual(['k3', 'k1', 'k5', 'k6']);
  });

  test('looks at the body first, unless JSON may write the text in more ways than one', () => {
    const where = (contains: string) => fastWhere([{ anyOf: ['title'], contains }], true).sql;
    expect(where('bitcoin')).toContain('"_body" LIKE');
    for (const text of ['say "no"', 'a/b', 'a\\b', '1,2', 'line\nline'])
      expect(where(text)).not.toContain('_body');
    expect(fastWhere([{ anyOf: ['title'], contains: 'bitcoin' }], false).sql).not.toContain('_body');
  });
});

test('an integer too large for a number is compared to its last digit', () => {
  const where = (integer: string) => [{ column: 'n', is: '=' as const, value: { integer } }];
  const count = (integer: string) =>
    all(countSql({ ...listing, table: 'large', where: where(integer), isRead: false }));
  db.exec('CREATE TABLE large AS SELECT 9007199254740993 AS n');
  expect([count('9007199254740993'), count('9007199254740992')]).toEqual([[[1]], [[0]]]);
});

test('a number is found in a column that holds texts as well, and so is the text that looks like it', () => {
  db.exec(
    `CREATE TABLE mixed (_key, v); INSERT INTO mixed VALUES ('n', 5), ('t', '5'), ('x', 'x'), ('0', NULL)`,
  );
  const columns = columnsOf([{ name: 'v', type: '', kind: 'mixed' }], [['x']]);
  const mixed = { ...listing, table: 'mixed', columns: ['v'], order: [], isRead: false };
  const where = (is: Comparison, value: string) =>
    conditionsOf({ filters: [{ column: 'v', is, value }], search: '' }, columns);
  const found = (is: Comparison, value: string) =>
    keysOf(all(plainSql({ ...mixed, where: where(is, value) }, ['v'])));
  expect(found('=', '5')).toEqual(['n', 't']);
  expect(found('<>', '5')).toEqual(['0', 'x']);
  expect(found('=', 'x')).toEqual(['x']);
  // Another value of the column can still be chosen.
  expect(all(facetSql({ ...mixed, where: where('=', '5') }, ['v']))).toHaveLength(4);
});

describe('a chart', () => {
  const charted = { table: 'news', time: { name: 'at', clock: 'text' as const }, where: [] };

  test('counts rows by day, the latest first, without those that have no time', () => {
    expect(all(chartSql({ ...charted, value: null }, 'day'))).toEqual([
      ['2026-11-22T00:00Z', 1],
      ['2026-11-16T00:00Z', 1],
    ]);
  });

  test('has average, least and most of a number, whatever its column is called', () => {
    expect(all(chartSql({ ...charted, value: 'a"b' }, 'month'))).toEqual([
      ['2026-11-01T00:00Z', 2, 1.5, 1, 2],
    ]);
  });

  test('is split by the most frequent values of a column, and all others together', () => {
    expect(all(chartSql({ ...charted, value: null, split: 'title' }, 'month'))).toEqual([
      ['2026-11-01T00:00Z', 1, 'Bitcoin rises'],
      ['2026-11-01T00:00Z', 1, 'Café prices'],
    ]);
    db.exec(`CREATE TABLE many AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 54)
      SELECT 's' || (i % 10) AS "s", i AS v, '2026-11-16T10:00:00Z' AS at FROM n`);
    const split = all(chartSql({ ...charted, table: 'many', value: 'v', split: 's' }, 'day'));
    expect(split.map(([, rows, , , , series]) => [series, rows])).toEqual([
      ['all others', 10],
      ...[0, 1, 2, 3, 4].map((at) => [`s${at}`, 6]),
      ...[5, 6, 7].map((at) => [`s${at}`, 5]),
    ]);
  });

  test('has weeks that begin on Monday', () => {
    expect(all(chartSql({ ...charted, value: null }, 'week'))).toEqual([['2026-11-16T00:00Z', 2]]);
  });

  test('knows how far it reaches, and what suits that', () => {
    const [[first, last] = []] = all(extentSql({ ...charted, value: null })) as [number, number][];
    expect(new Date((first ?? 0) * 1_000).toISOString()).toBe('2026-11-16T10:00:00.000Z');
    expect(suitingBucket(first ?? 0, last ?? 0)).toBe('hour');
    expect(new Date(endOf(Date.UTC(2028, 1), 'month')).toISOString()).toBe('2028-03-01T00:00:00.000Z');
    expect(suitingBucket(0, 3_600)).toBe('minute');
    expect(suitingBucket(0, 400 * 86_400)).toBe('day');
  });

  test('of days is by nothing shorter than a day', () => {
    const [days = [], moments = []] = ['2026-11-16', '2026-11-16T10:00:00Z'].map((at) =>
      columnsOf([{ name: 'at', type: 'TEXT' }], [[at]]).map(bucketsFor),
    );
    expect(days).toEqual([['day', 'week', 'month']]);
    expect(moments).toEqual([['minute', 'hour', 'day', 'week', 'month']]);
    expect([0, 86_400, 400 * 86_400].map((last) => suitingBucket(0, last, days[0]))).toEqual(
      Array(3).fill('day'),
    );
  });
});
