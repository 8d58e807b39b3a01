/**
 * Fields that move. An age moves by the same amount in all rows, walk after walk: it is kept current and makes no version. Any other
 * field that changes most rows, such as a price, keeps its versions: that history is what people want.
 */

import { isDeepStrictEqual } from 'node:util';
import type { FieldPath } from './checked.ts';
import { asRecord, valueAt } from './values.ts';

/** Fewer rows of a page are no evidence. */
const LEAST_ROWS = 10;
/** Of them, so many must have moved together. */
const NEARLY_ALL = 0.9;
/** Walks in a row that make a field an age, and that end it. */
const WALKS_TO_DECIDE = 3;
/** A field that changes more of the rows at each walk is named to people. */
const MOST_ROWS = 0.5;
const SECOND_MS = 1_000;
/** A double holds about so many digits of the difference of two numbers. */
const ROUNDING = 1e-9;

/** What walks have shown of a field. */
export type Motion = {
  path: FieldPath;
  /** It is kept current without a version. */
  isAge: boolean;
  /** Walks in a row in which it moved by the same amount in all rows; in which it did not; in which it changed most rows. */
  together: number;
  apart: number;
  restless: number;
};

/** What the pages of a walk have shown so far of a field; plain data, kept with the checkpoint. */
type Seen = { path: FieldPath; pagesTogether: number; pagesApart: number; rowsChanged: number };
export type MotionOfWalk = { rows: number; fields: Record<string, Seen> };

export const noMotion = (): MotionOfWalk => ({ rows: 0, fields: {} });

/** A row before and after; the same object where its text is the same. */
export type Change = readonly [before: unknown, after: unknown];

/** Adds what a page shows. @param changes its rows that the mirror had and that this walk meets for the first time. */
export function observe(walk: MotionOfWalk, changes: readonly Change[]): void {
  walk.rows += changes.length;
  const changed = changes.filter(([before, after]) => before !== after);
  if (changed.length === 0) return;
  for (const [name, path] of fieldsOf(changed)) {
    const differing = changed.filter(
      ([before, after]) => !isDeepStrictEqual(valueAt(before, path), valueAt(after, path)),
    );
    if (differing.length === 0) continue;
    const seen = walk.fields[name] ?? { path, pagesTogether: 0, pagesApart: 0, rowsChanged: 0 };
    walk.fields[name] = seen;
    seen.rowsChanged += differing.length;
    const way = motionOf(changes.map(([before, after]) => [valueAt(before, path), valueAt(after, path)]));
    if (way === 'together') seen.pagesTogether += 1;
    if (way === 'apart') seen.pagesApart += 1;
  }
}

/** Members of the rows, and members of their objects. */
function fieldsOf(changes: readonly Change[]): Map<string, FieldPath> {
  const fields = new Map<string, FieldPath>();
  for (const [, after] of changes)
    for (const [name, value] of Object.entries(asRecord(after) ?? {})) {
      const members = Object.keys(asRecord(value) ?? {});
      for (const path of members.length > 0 ? members.map((member) => [name, member]) : [[name]])
        fields.set(JSON.stringify(path), path);
    }
  return fields;
}

/** How the values of a page's rows moved; undefined where too few can be compared, or none moved. */
function motionOf(values: readonly Change[]): 'together' | 'apart' | undefined {
  const amounts = values.flatMap(([before, after]) => {
    const [from, to] = [amountOf(before), amountOf(after)];
    return from && to
      ? [{ by: to.amount - from.amount, unit: Math.max(from.unit, to.unit), at: to.amount }]
      : [];
  });
  if (amounts.length < LEAST_ROWS) return undefined;
  const moved = amounts.filter(({ by }) => by !== 0);
  if (moved.length === 0) return undefined;
  const usual = medianOf(moved.map(({ by }) => by));
  const unit = Math.min(...amounts.map((one) => one.unit));
  const together = moved.filter(({ by, at }) => Math.abs(by - usual) <= unit + Math.abs(at) * ROUNDING);
  return together.length >= amounts.length * NEARLY_ALL ? 'together' : 'apart';
}

const number = /^-?\d+(\.\d+)?$/;
const time = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}/;

/** A number, or a time in milliseconds, with the unit of its last digit. */
function amountOf(value: unknown): { amount: number; unit: number } | undefined {
  if (typeof value === 'string' && time.test(value)) {
    const amount = Date.parse(value);
    return Number.isNaN(amount) ? undefined : { amount, unit: SECOND_MS };
  }
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || !number.test(text)) return undefined;
  return { amount: Number(text), unit: 10 ** -(text.split('.')[1]?.length ?? 0) };
}

function medianOf(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** What is known of moving fields once a whole walk has ended. */
export function motionsOfWalk(known: readonly Motion[], walk: MotionOfWalk): Motion[] {
  const names = new Map(known.map((motion) => [JSON.stringify(motion.path), motion]));
  for (const [name, { path }] of Object.entries(walk.fields))
    if (!names.has(name)) names.set(name, { path, isAge: false, together: 0, apart: 0, restless: 0 });
  const motions = [...names].map(([name, motion]) => motionOfWalk(motion, walk.fields[name], walk.rows));
  return motions.filter(({ isAge, together, restless }) => isAge || together > 0 || restless > 0);
}

function motionOfWalk(motion: Motion, seen: Seen | undefined, rows: number): Motion {
  // A walk that found nothing changed says nothing of what moves.
  if (rows < LEAST_ROWS) return motion;
  const isRestless = (seen?.rowsChanged ?? 0) > rows * MOST_ROWS;
  const restless = isRestless ? motion.restless + 1 : 0;
  if (!seen || seen.pagesTogether + seen.pagesApart === 0) return { ...motion, restless };
  const isTogether = seen.pagesApart === 0;
  const together = isTogether ? motion.together + 1 : 0;
  const apart = isTogether ? 0 : motion.apart + 1;
  const isAge = motion.isAge ? apart < WALKS_TO_DECIDE : together >= WALKS_TO_DECIDE;
  return { ...motion, isAge, together, apart, restless };
}

/** Whether the field has changed most rows for long, and is no age. */
export const isRestless = ({ isAge, restless }: Motion) => !isAge && restless >= WALKS_TO_DECIDE;
