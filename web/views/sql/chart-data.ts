/** Which chart suits an answer, chosen from what its columns hold, and the points or bars that it draws. */

import type { PageCell } from '../../../src/serve/page/wire.ts';
import { momentOf } from '../../formats.ts';
import { amountOf, isIdentity, type Kind, kindOf } from '../../kinds.ts';

export type ChartKind = 'line' | 'bar' | 'scatter';

export type Choice = {
  kind: ChartKind;
  /** Columns by their place, since an answer may have one name twice. */
  x: number;
  y: readonly number[];
};

export type Columns = readonly { name: string; type: string | null }[];
type Rows = readonly (readonly PageCell[])[];

/** Lines that one can still tell apart. */
const MAX_SERIES = 4;
/** Powers of ten between what two lines reach. */
const MAX_POWERS_APART = 1.3;
/** More bars than these are easier to read as a line. */
const MAX_READABLE_BARS = 60;

/** What each column holds. */
export function kindsOf(columns: Columns, rows: Rows): Kind[] {
  return columns.map(({ type }, at) => kindOf(type, columnOf(rows, at)));
}

/**
 * Along time: a line for each number. By a text: bars of the first number. Two numbers: a scatter, or a line where the first
 * grows from row to row. Null where there is nothing to draw.
 */
export function chooseChart(columns: Columns, kinds: readonly Kind[], rows: Rows): Choice | null {
  if (rows.length === 0) return null;
  const places = (kind: Kind) => kinds.flatMap((each, at) => (each === kind ? [at] : []));
  const numbers = places('number');
  const amounts = numbers.filter((at) => !isIdentity(columns[at]?.name ?? ''));
  const [time] = places('time');
  const [text] = places('text').filter((at) => columnOf(rows, at).some((value) => value !== null));
  if (time !== undefined && amounts.length > 0)
    return { kind: rows.length === 1 ? 'bar' : 'line', x: time, y: alike(amounts, rows) };
  if (text !== undefined && amounts.length > 0) return { kind: 'bar', x: text, y: amounts.slice(0, 1) };
  const [first, ...others] = numbers;
  if (first === undefined || others.length === 0) return null;
  if (!isGrowing(columnOf(rows, first))) return { kind: 'scatter', x: first, y: others.slice(0, 1) };
  const kind =
    rows.length <= MAX_READABLE_BARS && columnOf(rows, first).every(Number.isInteger) ? 'bar' : 'line';
  return { kind, x: first, y: kind === 'bar' ? others.slice(0, 1) : alike(others, rows) };
}

/** Whether a column may stand on the axis of this kind of chart: only bars have names below them. */
export const mayBeX = (kind: ChartKind, of: Kind) => kind === 'bar' || of !== 'text';

/** The choice with another kind of chart, and another column along it where that kind needs one. */
export function withKind(choice: Choice, kind: ChartKind, kinds: readonly Kind[]): Choice {
  const x = mayBeX(kind, kinds[choice.x] ?? 'text')
    ? choice.x
    : kinds.findIndex((each, at) => each !== 'text' && !choice.y.includes(at));
  return x < 0 ? choice : { ...choice, kind, x };
}

/** Whether a chart of this kind can be drawn at all. */
export const canDraw = (choice: Choice, kind: ChartKind, kinds: readonly Kind[]) =>
  withKind(choice, kind, kinds).kind === kind;

/** The first, and those beside it that are not so much greater or smaller that one of both would be a flat line. */
function alike(places: readonly number[], rows: Rows): number[] {
  const size = (at: number) =>
    rows.reduce((most, row) => (typeof row[at] === 'number' ? Math.max(most, Math.abs(row[at])) : most), 0);
  const first = size(places[0] ?? -1) || 1;
  const isAlike = (at: number) =>
    size(at) === 0 || Math.abs(Math.log10(size(at) / first)) <= MAX_POWERS_APART;
  return places.filter(isAlike).slice(0, MAX_SERIES);
}

const columnOf = (rows: Rows, at: number): PageCell[] => rows.map((row) => row[at] ?? null);

function isGrowing(values: readonly PageCell[]): boolean {
  return values.every((value, at) => {
    const before = values[at - 1];
    return typeof value === 'number' && (at === 0 || (typeof before === 'number' && before < value));
  });
}

/** Drawing more is slow, and looks the same. */
export const MAX_POINTS = 20_000;
export const MAX_BARS = 100;

type Points = {
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
    return place === null ? [] : [{ place, values: y.map((at) => amountOf(row[at])) }];
  });
  const drawn = placed.slice(0, MAX_POINTS).sort((one, other) => one.place - other.place);
  return {
    x: drawn.map(({ place }) => place),
    series: y.map((_, at) => drawn.map(({ values }) => values[at] ?? null)),
    withoutPlace: rows.length - placed.length,
    left: placed.length - drawn.length,
  };
}

type Bar = { name: PageCell; value: number };

/** Of a bar chart, as the rows come. @returns `left`: rows behind the most that are drawn. */
export function barsOf(
  rows: Rows,
  { x, y: [y = -1] }: Choice,
): { bars: Bar[]; without: number; left: number } {
  const bars = rows.flatMap((row) => {
    const value = amountOf(row[y]);
    return value === null ? [] : [{ name: row[x] ?? null, value }];
  });
  return {
    bars: bars.slice(0, MAX_BARS),
    without: rows.length - bars.length,
    left: Math.max(0, bars.length - MAX_BARS),
  };
}

function placeOf(value: PageCell): number | null {
  return typeof value === 'string' ? momentOf(value) : amountOf(value);
}
