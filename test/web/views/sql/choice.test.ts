/** Which chart is chosen for an answer, and what is drawn. */

import { describe, expect, test } from 'vitest';
import type { PageCell } from '../../../../src/serve/ui/wire.ts';
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

function chosen(names: string[], rows: PageCell[][]) {
  const columns = names.map((name) => ({ name, type: null }));
  return chooseChart(columns, kindsOf(columns, rows), rows);
}

describe('of its own accord', () => {
  test('numbers along time are lines', () => {
    const rows = [1, 2, 3].map((at) => ['x', day(at), at, at * 2]);
    expect(chosen(['job', 'at', 'a', 'b'], rows)).toEqual({ kind: 'line', x: 1, y: [2, 3] });
  });

  test('a line beside which the others would be flat is drawn alone', () => {
    const rows = [1, 2, 3].map((at) => [day(at), at, at * 1_000, at + 1]);
    expect(chosen(['at', 'a', 'large', 'b'], rows)).toEqual({ kind: 'line', x: 0, y: [1, 3] });
  });

  test('a number by a text is bars', () => {
    expect(
      chosen(
        ['asset', 'rows', 'more'],
        [
          ['BTC', 3, 1],
          ['ETH', 2, 1],
        ],
      ),
    ).toEqual({ kind: 'bar', x: 0, y: [1] });
  });

  test('days are bars in their order', () => {
    expect(
      chosen(
        ['day', 'rows'],
        [
          ['2026-01-01', 3],
          ['2026-01-02', 2],
        ],
      ),
    ).toEqual({ kind: 'bar', x: 0, y: [1] });
  });

  test('two numbers are a scatter; where the first grows, bars or a line', () => {
    expect(
      chosen(
        ['a', 'b'],
        [
          [3, 1],
          [1, 2],
        ],
      ),
    ).toEqual({ kind: 'scatter', x: 0, y: [1] });
    expect(
      chosen(
        ['a', 'b'],
        [
          [1, 1],
          [2, 2],
        ],
      ),
    ).toEqual({ kind: 'bar', x: 0, y: [1] });
    expect(
      chosen(
        ['a', 'b'],
        [
          [0.1, 1],
          [0.2, 2],
        ],
      ),
    ).toEqual({ kind: 'line', x: 0, y: [1] });
  });

  test('numbers that only name something are not drawn', () => {
    expect(
      chosen(
        ['at', 'walk_id', 'ms'],
        [
          [day(1), 1, 5],
          [day(2), 2, 6],
        ],
      ),
    ).toEqual({ kind: 'line', x: 0, y: [2] });
    expect(chosen(['job', 'id'], [['news', 1]])).toBeNull();
  });

  test('nothing is drawn of no rows, of texts alone, of one number', () => {
    expect(chosen(['at', 'a'], [])).toBeNull();
    expect(chosen(['a', 'b'], [['x', 'y']])).toBeNull();
    expect(chosen(['a'], [[1], [2]])).toBeNull();
  });
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
