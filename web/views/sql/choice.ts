/** Which chart suits an answer: chosen from what its columns hold, and changed by whoever looks. */

import type { PageCell } from '../../../src/serve/ui/wire.ts';
import { type Kind, kindOf } from '../../kinds.ts';

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
const MOST_SERIES = 4;
/** Powers of ten between what two lines reach. */
const MOST_APART = 1.3;
/** More bars than these are easier to read as a line. */
const MOST_BARS = 60;

/** What each column holds. */
export function kindsOf(columns: Columns, rows: Rows): Kind[] {
  return columns.map(({ type }, at) => kindOf(type, columnOf(rows, at)));
}

/** A whole number that names something is no amount: nobody wants its sum or its course. */
const naming = /(^|_)(id|seq|rowid)$/i;

/**
 * Along time: a line for each number. By a text: bars of the first number. Two numbers: a scatter, or a line where the first
 * grows from row to row. Null where there is nothing to draw.
 */
export function chooseChart(columns: Columns, kinds: readonly Kind[], rows: Rows): Choice | null {
  if (rows.length === 0) return null;
  const places = (kind: Kind) => kinds.flatMap((each, at) => (each === kind ? [at] : []));
  const numbers = places('number');
  const amounts = numbers.filter((at) => !naming.test(columns[at]?.name ?? ''));
  const [time] = places('time');
  const [text] = places('text').filter((at) => columnOf(rows, at).some((value) => value !== null));
  if (time !== undefined && amounts.length > 0)
    return { kind: rows.length === 1 ? 'bar' : 'line', x: time, y: alike(amounts, rows) };
  if (text !== undefined && amounts.length > 0) return { kind: 'bar', x: text, y: amounts.slice(0, 1) };
  const [first, ...others] = numbers;
  if (first === undefined || others.length === 0) return null;
  if (!isGrowing(columnOf(rows, first))) return { kind: 'scatter', x: first, y: others.slice(0, 1) };
  const kind = rows.length <= MOST_BARS && columnOf(rows, first).every(Number.isInteger) ? 'bar' : 'line';
  return { kind, x: first, y: kind === 'bar' ? others.slice(0, 1) : alike(others, rows) };
}

/** Whether a column may stand on the axis of this kind of chart: only bars have names below them. */
export const mayBeX = (kind: ChartKind, of: Kind) => kind === 'bar' || of !== 'text';

/** The choice of whoever looks, mended where another kind of chart cannot be drawn of the same columns. */
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
  const isAlike = (at: number) => size(at) === 0 || Math.abs(Math.log10(size(at) / first)) <= MOST_APART;
  return places.filter(isAlike).slice(0, MOST_SERIES);
}

const columnOf = (rows: Rows, at: number): PageCell[] => rows.map((row) => row[at] ?? null);

function isGrowing(values: readonly PageCell[]): boolean {
  return values.every((value, at) => {
    const before = values[at - 1];
    return typeof value === 'number' && (at === 0 || (typeof before === 'number' && before < value));
  });
}
