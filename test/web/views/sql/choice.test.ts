/** Which chart is chosen for an answer, and what is drawn. */

import { describe, expect, test } from 'vitest';
import type { PageCell } from '../../../../src/serve/page/wire.ts';
import {
  barsOf,
  canDraw,
  chooseChart,
  kindsOf,
  MAX_BARS,
  MAX_POINTS,
  pointsOf,
  withKind,
} from '../../../../web/views/sql/chart-data.ts';

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

describe('chosen by hand', () => {
  const kinds = ['text', 'number', 'number', 'time'] as const;

  test('another kind takes an axis that it can have', () => {
    expect(withKind({ kind: 'bar', x: 0, y: [1] }, 'line', kinds)).toEqual({ kind: 'line', x: 2, y: [1] });
    expect(withKind({ kind: 'line', x: 3, y: [1] }, 'bar', kinds)).toEqual({ kind: 'bar', x: 3, y: [1] });
  });

  test('what cannot be drawn is not offered', () => {
    expect(canDraw({ kind: 'bar', x: 0, y: [1] }, 'scatter', kinds)).toBe(true);
    expect(canDraw({ kind: 'bar', x: 0, y: [1] }, 'scatter', ['text', 'number'])).toBe(false);
  });
});

describe('what is drawn', () => {
  test('stands in ascending order, and what has no place is counted', () => {
    const rows = [
      [day(2), 2],
      [null, 9],
      [day(1), null],
      ['soon', 1],
    ];
    expect(pointsOf(rows, { kind: 'line', x: 0, y: [1] })).toEqual({
      x: [Date.parse(day(1)), Date.parse(day(2))],
      series: [[null, 2]],
      withoutPlace: 2,
      left: 0,
    });
  });

  test('large integers are drawn where the nearest double is', () => {
    const rows = [[1, { integer: '9007199254740993' }]];
    expect(pointsOf(rows, { kind: 'line', x: 0, y: [1] }).series).toEqual([[9007199254740992]]);
  });

  test('of too much only the first part, and how much is left is told', () => {
    const rows = Array.from({ length: MAX_POINTS + 5 }, (_, at) => [at, at]);
    expect(pointsOf(rows, { kind: 'line', x: 0, y: [1] })).toMatchObject({ left: 5 });
    const bars = barsOf([...rows.slice(0, MAX_BARS + 3), [1, null]], { kind: 'bar', x: 0, y: [1] });
    expect(bars).toMatchObject({ left: 3, without: 1 });
    expect(bars.bars).toHaveLength(MAX_BARS);
  });
});
