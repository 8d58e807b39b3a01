/** Which chart suits an answer, chosen from what its columns hold, and the points that it draws. */

import type { PageCell } from '../../../src/serve/page/wire.ts';
import { number, timeOf } from '../../formats.ts';
import { amountOf, isIdentity, type Kind, kindOf } from '../../kinds.ts';

export type ChartKind = 'line' | 'bar' | 'scatter';
export type Columns = readonly { name: string; type: string | null }[];
export type Rows = readonly (readonly PageCell[])[];

/** Columns by their place, since an answer may have one name twice. */
export type Choice = {
  kind: ChartKind;
  x: number;
  y: readonly number[];
  /** A column of texts, each of which is a line of its own; -1 for none. */
  split: number;
};

/** Lines that one can still tell apart. */
const MAX_SERIES = 4;
const MAX_SPLIT = 8;
const OTHERS = 'all others';
/** Powers of ten between what two lines reach. */
const MAX_POWERS_APART = 1.3;
/** More bars than these are easier to read as a line. */
const MAX_READABLE_BARS = 60;
/** Drawing more is slow, and looks the same. */
const MAX_POINTS = 20_000;
const columnOf = (rows: Rows, at: number): PageCell[] => rows.map((row) => row[at] ?? null);

/** What each column holds. */
export function kindsOf(columns: Columns, rows: Rows): Kind[] {
  return columns.map(({ type }, at) => kindOf(type, columnOf(rows, at)));
}

/**
 * Along time: a line for each number, or for each text where one moment has several. By a text: bars of the first number. Two
 * numbers: a scatter, or a line where the first grows from row to row. Null where there is nothing to draw.
 */
export function chooseChart(columns: Columns, kinds: readonly Kind[], rows: Rows): Choice | null {
  if (rows.length === 0) return null;
  const places = (kind: Kind) => kinds.flatMap((each, at) => (each === kind ? [at] : []));
  const numbers = places('number');
  const amounts = numbers.filter((at) => !isIdentity(columns[at]?.name ?? ''));
  const [time] = places('time');
  const texts = places('text').filter((at) => columnOf(rows, at).some((value) => value !== null));
  if (time !== undefined && amounts.length > 0) {
    const hasSeveral = new Set(columnOf(rows, time)).size < rows.length;
    const split = hasSeveral ? (texts.find((at) => new Set(columnOf(rows, at)).size <= MAX_SPLIT) ?? -1) : -1;
    const y = split < 0 ? alike(amounts, rows) : amounts.slice(0, 1);
    return { kind: rows.length === 1 ? 'bar' : 'line', x: time, y, split };
  }
  const [text] = texts;
  if (text !== undefined && amounts.length > 0)
    return { kind: 'bar', x: text, y: amounts.slice(0, 1), split: -1 };
  const [first, ...others] = numbers;
  if (first === undefined || others.length === 0) return null;
  const along = columnOf(rows, first);
  const isGrowing = along.every(
    (value, at) => typeof value === 'number' && (at === 0 || Number(along[at - 1]) < value),
  );
  if (!isGrowing) return { kind: 'scatter', x: first, y: others.slice(0, 1), split: -1 };
  const kind = rows.length <= MAX_READABLE_BARS && along.every(Number.isInteger) ? 'bar' : 'line';
  return { kind, x: first, y: kind === 'bar' ? others.slice(0, 1) : alike(others, rows), split: -1 };
}

/** The first, and those beside it that are not so much greater or smaller that one of both would be a flat line. */
function alike(places: readonly number[], rows: Rows): number[] {
  const size = (at: number) =>
    rows.reduce((most, row) => (typeof row[at] === 'number' ? Math.max(most, Math.abs(row[at])) : most), 0);
  const first = size(places[0] ?? -1) || 1;
  const isAlike = (at: number) =>
    size(at) === 0 || Math.abs(Math.log10(size(at) / first)) <= MAX_POWERS_APART;
  return places.filter(isAlike).slice(0, MAX_SERIES);
}

/** Whether a column may stand on the axis of this kind of chart: only bars have names below them. */
export const mayBeX = (kind: ChartKind, of: Kind | undefined) =>
  kind === 'bar' || (of !== 'text' && of !== undefined);

/** The choice with another kind of chart, and another column along it where that kind needs one. */
export function withKind(choice: Choice, kind: ChartKind, kinds: readonly Kind[]): Choice {
  const x = mayBeX(kind, kinds[choice.x])
    ? choice.x
    : kinds.findIndex((each, at) => each !== 'text' && !choice.y.includes(at));
  return x < 0 ? choice : { ...choice, kind, x };
}

type Points = { x: number[]; series: { label: string; values: (number | null)[] }[]; notes: string[] };

/** The points of a line or a scatter, in the order of its axis; a line for each text of a column that splits them. */
export function pointsOf(columns: Columns, rows: Rows, { kind, x, y, split }: Choice): Points {
  const nameOf = (at: number) => columns[at]?.name ?? '';
  const placed = rows.flatMap((row) => {
    const value = row[x] ?? null;
    const place = typeof value === 'string' ? timeOf(value) : amountOf(value);
    return place === null ? [] : [{ place, row }];
  });
  const drawn = placed.slice(0, MAX_POINTS).sort((one, other) => one.place - other.place);
  const [left, without] = [placed.length - drawn.length, rows.length - placed.length];
  const notes = [
    left > 0 ? `${number(left)} more points are not drawn.` : '',
    without > 0 ? `${number(without)} rows have no ${nameOf(x)}.` : '',
  ].filter(Boolean);
  const amountIn = (row: readonly PageCell[], at: number) => amountOf(row[at]);
  if (split < 0)
    return {
      x: drawn.map(({ place }) => place),
      series: y.map((at) => ({ label: nameOf(at), values: drawn.map(({ row }) => amountIn(row, at)) })),
      notes,
    };
  const [of = -1] = y;
  const textOf = (row: readonly PageCell[]) => String(row[split] ?? 'null');
  const counts = new Map<string, number>();
  for (const { row } of drawn) counts.set(textOf(row), (counts.get(textOf(row)) ?? 0) + 1);
  const frequent = [...counts].sort((one, other) => other[1] - one[1]).map(([text]) => text);
  const labels = frequent.slice(0, MAX_SPLIT);
  const places =
    kind === 'scatter' ? drawn.map(({ place }) => place) : [...new Set(drawn.map(({ place }) => place))];
  const lines = new Map(
    [...labels, ...(frequent.length > MAX_SPLIT ? [OTHERS] : [])].map((label) => [
      label,
      places.map((): number | null => null),
    ]),
  );
  const at = new Map(places.map((place, index) => [place, index]));
  drawn.forEach(({ place, row }, index) => {
    const line = lines.get(textOf(row)) ?? lines.get(OTHERS);
    const value = amountIn(row, of);
    const here = kind === 'scatter' ? index : (at.get(place) ?? 0);
    // Of several rows at one place the sum is drawn.
    if (line && value !== null) line[here] = (line[here] ?? 0) + value;
  });
  return { x: places, series: [...lines].map(([label, values]) => ({ label, values })), notes };
}
