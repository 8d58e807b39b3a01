/** What columns hold, and which of them are shown. */

import { describe, expect, test } from 'vitest';
import type { PageCell } from '../../../../src/serve/page/wire.ts';
import {
  columnsOf,
  type DeclaredColumn,
  facetColumns,
  numberColumns,
  searchedColumns,
  shownColumns,
  timeColumns,
} from '../../../../web/views/dataset/columns.ts';

const declared = (...names: string[]): DeclaredColumn[] => names.map((name) => ({ name, type: '' }));
const named = (columns: readonly { name: string }[]) => columns.map(({ name }) => name);

/** @param values by column: those of each row. */
function columnsWith(values: Record<string, PageCell[]>, kinds: Record<string, DeclaredColumn['kind']> = {}) {
  const names = Object.keys(values);
  const rows =
    Object.values(values)[0]?.map((_, row) => names.map((name) => values[name]?.[row] ?? null)) ?? [];
  return columnsOf(
    names.map((name) => ({ name, type: '', kind: kinds[name] })),
    rows,
  );
}

const signals = columnsWith(
  {
    _key: ['s-1', 's-2', 's-3', 's-4'],
    _changed_at: ['2026-11-22T10:00:00Z', '2026-11-22T10:00:00Z', '2026-11-22T10:00:00Z', null],
    id: ['s-1', 's-2', 's-3', 's-4'],
    token_decimals: [18, 6, 18, 6],
    entry_price: [1.5, 2.5, 3.5, 4.5],
    status: ['active', 'closed', 'active', 'active'],
    asset: ['BTC', 'ETH', 'SPX', 'XAU'],
    quality_grade: ['A', 'B', 'A', 'A'],
    published_at: [
      '2026-11-22T10:00:00Z',
      '2026-11-22T11:00:00Z',
      '2026-11-22T12:00:00Z',
      '2026-11-22T13:00:00Z',
    ],
    allowed: [1, 0, 1, null],
    tags: ['["x"]', '["y"]', '[]', '[]'],
    none: [null, null, null, null],
  },
  { allowed: 'boolean', tags: 'json', _changed_at: 'timestamp with time zone' },
);

describe('columns', () => {
  test('hold what was seen in them', () => {
    const kinds = Object.fromEntries(signals.map(({ name, kind }) => [name, kind]));
    expect(kinds).toMatchObject({
      ...{ asset: 'text', published_at: 'time', entry_price: 'number', allowed: 'boolean', tags: 'json' },
    });
  });

  test('are shown by use: when, what, how good, for how much; none that is the key or empty', () => {
    expect(shownColumns(signals)).toEqual([
      ...[
        'published_at',
        'asset',
        'quality_grade',
        'status',
        'entry_price',
        'token_decimals',
        'allowed',
        'tags',
      ],
    ]);
  });

  test("are those that the job's file names, as far as there are such", () => {
    expect(shownColumns(signals, ['status', 'gone', 'id'])).toEqual(['status', 'id']);
  });

  test('are searched where they hold text', () => {
    expect(searchedColumns(signals)).toEqual([
      ...['_key', 'published_at', 'asset', 'quality_grade', 'status', 'id', 'tags', 'none'],
    ]);
  });

  test('of few values are counted, and of numbers and times can be charted, those of the dataset first', () => {
    expect(named(facetColumns(signals))).toEqual(['asset', 'quality_grade', 'status', 'allowed']);
    expect(named(numberColumns(signals))).toEqual(['entry_price', 'token_decimals']);
    expect(named(timeColumns(signals))).toEqual(['published_at', '_changed_at']);
  });

  test('of numbers that are times are known by name and size', () => {
    const columns = columnsWith({ opened_at: [1_795_000_000], closed_ts: [1_795_000_000_000], lot_at: [12] });
    expect(Object.fromEntries(columns.map(({ name, clock }) => [name, clock]))).toEqual({
      ...{ opened_at: 'seconds', closed_ts: 'milliseconds', lot_at: null },
    });
  });

  test('which numbers and texts share is one of texts, and its numbers can be charted', () => {
    const [mixed] = columnsWith({ mixed: [5, 6] }, { mixed: 'mixed' });
    expect(mixed?.kind).toBe('text');
    expect(named(numberColumns(mixed ? [mixed] : []))).toEqual(['mixed']);
  });

  test('that are always the same give way to others', () => {
    const many = Array.from({ length: 12 }, (_, at) => `c${at}`);
    const rows = [1, 2, 3].map((row) => many.map((_, at) => (at < 3 ? 'same' : `v${row}`)));
    expect(shownColumns(columnsOf(declared(...many), rows))).toEqual(many.slice(3));
  });

  test('of a table without rows are shown all the same', () => {
    expect(shownColumns(columnsOf(declared('a', 'b', '_key'), []))).toEqual(['a', 'b']);
  });
});
