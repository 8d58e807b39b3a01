/** A look at a dataset can be sent to somebody: its address says all of it. */

import { expect, test } from 'vitest';
import { columnsOfSample } from '../../../../web/views/dataset/columns.ts';
import { conditionsOf, type Looking, lookingOf, searchOf } from '../../../../web/views/dataset/looking.ts';

const addressed = (search: Record<string, unknown>) =>
  new URLSearchParams(
    Object.entries(search).flatMap(([name, value]) =>
      value === null || value === undefined ? [] : [[name, String(value)]],
    ),
  );

const look: Looking = {
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
};

test('what is looked at is the same after a way through its address', () => {
  expect(lookingOf(addressed(searchOf(look)))).toEqual(look);
});

test('other rows begin at their first page', () => {
  expect(searchOf({ search: 'x' })).toEqual({ q: 'x', from: null });
});

test('an address that says nonsense shows the rows', () => {
  const nonsense = { show: 'x', where: '[["a"],5,["a","drop","b"],{', from: '-7', by: 'eon', cols: '' };
  expect(lookingOf(addressed(nonsense))).toMatchObject({
    ...{ show: 'rows', filters: [], offset: 0, by: null, columns: [] },
  });
});

test('numbers are compared as numbers, and columns that there are not are left out', () => {
  const columns = columnsOfSample(
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
