/** The points of a chart out of the rows of an answer, in ascending order. */

import type { PageCell } from '../../../src/serve/ui/wire.ts';
import { momentOf } from '../../formats.ts';
import type { Choice } from './choice.ts';

type Rows = readonly (readonly PageCell[])[];

/** A browser that draws more than these is slow, and nobody sees the difference. */
export const MOST_POINTS = 20_000;
export const MOST_BARS = 100;

export type Points = {
  /** Ascending; epoch milliseconds of times. */
  x: number[];
  series: (number | null)[][];
  /** Rows without a place on the axis. */
  withoutPlace: number;
  /** Rows behind the most that are drawn. */
  left: number;
};

/** Of a line or a scatter. */
export function pointsOf(rows: Rows, { x, y }: Choice): Points {
  const placed = rows.flatMap((row) => {
    const place = placeOf(row[x] ?? null);
    return place === null ? [] : [{ place, values: y.map((at) => amountOf(row[at] ?? null)) }];
  });
  const drawn = placed.slice(0, MOST_POINTS).sort((one, other) => one.place - other.place);
  return {
    x: drawn.map(({ place }) => place),
    series: y.map((_, at) => drawn.map(({ values }) => values[at] ?? null)),
    withoutPlace: rows.length - placed.length,
    left: placed.length - drawn.length,
  };
}

export type Bar = { name: PageCell; value: number };

/** Of a bar chart, as the rows come. @returns `left`: rows behind the most that are drawn. */
export function barsOf(
  rows: Rows,
  { x, y: [y = -1] }: Choice,
): { bars: Bar[]; without: number; left: number } {
  const bars = rows.flatMap((row) => {
    const value = amountOf(row[y] ?? null);
    return value === null ? [] : [{ name: row[x] ?? null, value }];
  });
  return {
    bars: bars.slice(0, MOST_BARS),
    without: rows.length - bars.length,
    left: Math.max(0, bars.length - MOST_BARS),
  };
}

function placeOf(value: PageCell): number | null {
  return typeof value === 'string' ? momentOf(value) : amountOf(value);
}

/** Large integers are drawn where the nearest double is. */
function amountOf(value: PageCell): number | null {
  if (typeof value === 'number') return value;
  return typeof value === 'object' && value !== null && 'integer' in value ? Number(value.integer) : null;
}
