/** What a view of a dataset shows can be sent to somebody: its address says all of it. */

import { expect, test } from 'vitest';
import { columnsOf } from '../../../../web/views/dataset/columns.ts';
import {
  conditionsOf,
  fileNameOf,
  readState,
  searchFor,
  type ViewState,
  withFilter,
} from '../../../../web/views/dataset/view-state.ts';

const addressed = (search: Record<string, unknown>) =>
  new URLSearchParams(
    Object.entries(search).flatMap(([name, value]) =>
      value === null || value === undefined ? [] : [[name, String(value)]],
    ),
  );

const state: ViewState = {
  show: 'chart',
  search: 'a & b=c',
  filters: [
    { column: '<script>', is: 'contains', value: '"quoted", \u0000' },
    { column: 'price', is: 'not null', value: '' },
  ],
  order: { column: 'price', descending: true },
  offset: 100,
  columns: ['price', 'title'],
  value: 'price',
  time: 'at',
  by: null,
  split: 'asset',
};

test('a state is the same after a way through its address', () => {
  expect(readState(addressed(searchFor(state)))).toEqual(state);
});

test('other rows begin at their first page', () => {
  expect(searchFor({ search: 'x' })).toEqual({ q: 'x', from: null });
});

test('an address that says nonsense shows the rows', () => {
  const nonsense = { show: 'x', where: '[["a"],5,["a","drop","b"],{', from: '-7', by: 'eon', cols: '' };
  expect(readState(addressed(nonsense))).toMatchObject({
    ...{ show: 'rows', filters: [], offset: 0, by: null, columns: [] },
  });
});

test('numbers are compared as numbers, and columns that there are not are left out', () => {
  const columns = columnsOf(
    [
      { name: 'price', type: 'real' },
      { name: 'title', type: 'text' },
    ],
    [],
  );
  const filters = [
    { column: 'price', is: '>' as const, value: '5' },
    { column: 'price', is: '=' as const, value: '9007199254740993' },
    { column: 'title', is: '=' as const, value: '5' },
    { column: 'gone', is: '=' as const, value: '5' },
  ];
  expect(conditionsOf({ filters, search: '' }, columns)).toEqual([
    { column: 'price', is: '>', value: 5 },
    { column: 'price', is: '=', value: { integer: '9007199254740993' } },
    { column: 'title', is: '=', value: '5' },
  ]);
});

test('truth values are found by their words, and by 0 and 1', () => {
  const columns = columnsOf([{ name: 'allowed', type: 'integer', kind: 'boolean' }], []);
  const conditionFor = (value: string) =>
    conditionsOf({ filters: [{ column: 'allowed', is: '=', value }], search: '' }, columns)[0];
  expect(['true', 'false', '1'].map(conditionFor)).toEqual(
    [1, 0, 1].map((value) => ({ column: 'allowed', is: '=', value })),
  );
});

test('another value of a column takes the place of the one before, other conditions stay', () => {
  const grade = (value: string) => ({ column: 'grade', is: '=' as const, value });
  const least = { column: 'confidence', is: '>' as const, value: '0.5' };
  expect(withFilter([grade('A'), least], grade('B'))).toEqual([least, grade('B')]);
  expect(withFilter([least], { ...least, value: '0.6' })).toHaveLength(2);
  // Nor is a value null.
  const none = { column: 'grade', is: 'null' as const, value: '' };
  expect(withFilter([grade('A'), least], none)).toEqual([least, none]);
  expect(withFilter([none], grade('A'))).toEqual([grade('A')]);
  const some = { ...none, is: 'not null' as const };
  expect(withFilter([some], none)).toEqual([some, none]);
});

test('a file is named after its dataset and filters, in letters that every system takes', () => {
  const filters = [
    { column: 'quality_grade', is: '=' as const, value: 'A' },
    { column: 'note', is: 'contains' as const, value: '../x y' },
  ];
  expect(fileNameOf('ai-signals', { filters, search: '' })).toBe(
    'ai-signals_quality_grade-A_note-contains-x-y',
  );
  expect(fileNameOf('news', { filters: [], search: '日本' })).toBe('news');
  expect(fileNameOf('news', { filters: [], search: 'x'.repeat(200) }, '_by-day')).toMatch(
    /^news_x{52}_by-day$/,
  );
});
