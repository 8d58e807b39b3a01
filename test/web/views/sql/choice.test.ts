/** Which chart is chosen for an answer, and what is drawn. */

import { expect, test } from 'vitest';
import type { PageCell } from '../../../../src/serve/page/wire.ts';
import { chooseChart, kindsOf, pointsOf, withKind } from '../../../../web/views/sql/chart-data.ts';

const day = (at: number) => new Date(Date.UTC(2026, 0, at)).toISOString();

/** The kind of chart that is chosen of its own accord, with its axis and what is drawn; null for none. */
function chosen(names: string, ...rows: PageCell[][]) {
  const columns = names.split(' ').map((name) => ({ name, type: null }));
  const choice = chooseChart(columns, kindsOf(columns, rows), rows);
  return choice && `${choice.kind} ${choice.x}: ${choice.y}`;
}

const along = (values: (at: number) => PageCell[]) => [1, 2, 3].map((at) => [day(at), ...values(at)]);

test.each([
  ['numbers along time are lines', chosen('at a b', ...along((at) => [at, at * 2])), 'line 0: 1,2'],
  [
    'one beside which the others would be flat is drawn alone',
    chosen('at a large b', ...along((at) => [at, at * 1_000, at + 1])),
    'line 0: 1,3',
  ],
  ['a number by a text is bars', chosen('asset rows more', ['BTC', 3, 1], ['ETH', 2, 1]), 'bar 0: 1'],
  ['days are bars in their order', chosen('day rows', ['2026-01-01', 3], ['2026-01-02', 2]), 'bar 0: 1'],
  ['two numbers are a scatter', chosen('a b', [3, 1], [1, 2]), 'scatter 0: 1'],
  ['where whole numbers grow, bars', chosen('a b', [1, 1], [2, 2]), 'bar 0: 1'],
  ['where fractions grow, a line', chosen('a b', [0.1, 1], [0.2, 2]), 'line 0: 1'],
  [
    'a number that names something is not drawn',
    chosen('at walk_id ms', [day(1), 1, 5], [day(2), 2, 6]),
    'line 0: 2',
  ],
  ['nor alone', chosen('job id', ['news', 1]), null],
  ['nothing is drawn of no rows', chosen('at a'), null],
  ['of texts alone', chosen('a b', ['x', 'y']), null],
  ['of one number', chosen('a', [1], [2]), null],
])('of its own accord: %s', (_, choice, expected) => {
  expect(choice).toBe(expected);
});

test('of several rows of one moment, those of each text are a line of their own, and missing ones a gap', () => {
  const columns = ['at', 'action', 'n'].map((name) => ({ name, type: null }));
  const rows = [
    [day(1), 'BUY', 1],
    [day(1), 'SELL', 2],
    [day(2), 'BUY', 3],
  ];
  const choice = chooseChart(columns, kindsOf(columns, rows), rows);
  expect(choice).toEqual({ kind: 'line', x: 0, y: [2], split: 1 });
  if (!choice) return;
  expect(pointsOf(columns, rows, choice)).toEqual({
    x: [Date.parse(day(1)), Date.parse(day(2))],
    series: [
      { label: 'BUY', values: [1, 3] },
      { label: 'SELL', values: [2, null] },
    ],
    notes: [],
  });
  const many = Array.from({ length: 40 }, (_, at) => [day(1 + (at % 2)), `text ${at % 20}`, at]);
  expect(pointsOf(columns, many, { ...choice, split: 1 }).series.map(({ label }) => label)).toContain(
    'all others',
  );
});

test('another kind takes an axis that it can have', () => {
  const kinds = ['text', 'number', 'number', 'time'] as const;
  const of = (kind: 'line' | 'bar', x: number) => ({ kind, x, y: [1], split: -1 });
  expect(withKind(of('bar', 0), 'line', kinds)).toEqual(of('line', 2));
  expect(withKind(of('line', 3), 'bar', kinds)).toEqual(of('bar', 3));
  expect(withKind(of('bar', 0), 'scatter', ['text', 'number'])).toEqual(of('bar', 0));
});

test('points stand in ascending order, large integers where the nearest double is, and what has no place is counted', () => {
  const columns = [
    { name: 'at', type: null },
    { name: 'n', type: null },
  ];
  const rows: PageCell[][] = [
    [day(2), { integer: '9007199254740993' }],
    [null, 9],
    [day(1), null],
    ['soon', 1],
  ];
  expect(pointsOf(columns, rows, { kind: 'line', x: 0, y: [1], split: -1 })).toEqual({
    x: [Date.parse(day(1)), Date.parse(day(2))],
    series: [{ label: 'n', values: [null, 9007199254740992] }],
    notes: ['2 rows have no at.'],
  });
});
