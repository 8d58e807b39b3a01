/** What the columns of a dataset hold, and which of them are shown unless one chooses: those that say something. */

import type { PageCell } from '../../../src/serve/ui/wire.ts';
import { momentOf } from '../../formats.ts';
import type { Kind } from '../../kinds.ts';

export type Column = {
  name: string;
  /** `json`: lists and objects. */
  kind: Kind | 'json';
  /** Whether some of its values are numbers, whatever the others are. */
  hasNumbers: boolean;
  /** Of the mirror, not of the dataset. */
  isBookkeeping: boolean;
  /** How times are written: as text, or as a number of seconds or milliseconds. Null where they are none. */
  clock: 'text' | 'seconds' | 'milliseconds' | null;
  /** How likely it is that one wants to see it: 0 for most columns, less for the others. */
  worth: number;
};

type Declared = { name: string; type: string };

/** Of a dataset without a specification, a row of the table `fields` each. */
export type Field = { column: string; types: readonly string[]; example: string | null };

const MOST_SHOWN = 9;
const LONG_LETTERS = 90;

export const isBookkeeping = (name: string): boolean => name.startsWith('_');

/** From what was discovered; those of the dataset first. */
export function columnsOfFields(declared: readonly Declared[], fields: readonly Field[]): Column[] {
  const known = new Map(fields.map((field) => [field.column, field]));
  return ownFirst(declared, ({ name }) => {
    const field = known.get(name);
    if (!field) return bookkeepingColumn(name);
    const example = exampleOf(field.example);
    const values = example === null ? [] : [example];
    const holds = (...types: string[]) => field.types.some((type) => types.includes(type));
    const hasNumbers = holds('integer', 'number', 'big-integer', 'boolean');
    const hasJson = holds('array', 'object');
    const isNumber = hasNumbers && !hasJson && !holds('string');
    const kind = isNumber ? 'number' : hasJson ? 'json' : kindOfValues(values);
    return columnOf({ name, kind, hasNumbers, values, isEmpty: field.types.length === 0 });
  });
}

/** From some of its rows. @param rows their values in the order of `declared`. */
export function columnsOfSample(
  declared: readonly Declared[],
  rows: readonly (readonly PageCell[])[],
): Column[] {
  return ownFirst(declared, ({ name, type }, at) => {
    if (isBookkeeping(name)) return bookkeepingColumn(name);
    const values = rows.map((row) => row[at] ?? null).filter((value) => value !== null);
    const isNumber = values.length === 0 ? /INT|REAL|NUM/i.test(type) : values.every(isNumeric);
    const hasNumbers = isNumber || values.some(isNumeric);
    const isList = values.length > 0 && values.every(isJson);
    const kind = isNumber ? 'number' : isList ? 'json' : kindOfValues(values);
    return columnOf({ name, kind, hasNumbers, values, isEmpty: rows.length > 0 && values.length === 0 });
  });
}

/**
 * Their names, in the order of the table.
 * @param isKey of the column that identifies rows, which each row shows anyway.
 */
export function shownColumns(columns: readonly Column[], isKey: (name: string) => boolean): string[] {
  const own = columns.filter(({ name, isBookkeeping }) => !isBookkeeping && !isKey(name));
  const best = [...own].sort((one, other) => other.worth - one.worth).slice(0, MOST_SHOWN);
  const saying = best.some(({ worth }) => worth > WORTHLESS)
    ? best.filter(({ worth }) => worth > WORTHLESS)
    : best;
  return own.filter((column) => saying.includes(column)).map(({ name }) => name);
}

/** Where a text is looked for: numbers are found by filters. */
export function searchedColumns(columns: readonly Column[]): string[] {
  const texts = columns.filter(({ isBookkeeping, kind }) => !isBookkeeping && kind !== 'number');
  return ['_key', ...texts.map(({ name }) => name)];
}

export const numberColumns = (columns: readonly Column[]): Column[] =>
  columns.filter(({ hasNumbers, isBookkeeping, clock }) => hasNumbers && !isBookkeeping && clock === null);

/** Those of the dataset first: when it happened says more than when we heard of it. */
export function timeColumns(columns: readonly Column[]): Column[] {
  const times = columns.filter(({ clock }) => clock !== null);
  const own = times.filter((column) => !column.isBookkeeping);
  const happened = /^(timestamp|time|date|(published|created|opened|issued|detected|fetched)_?(at|on)?)$/;
  const first = own.filter(({ name }) => happened.test(name));
  return [...new Set([...first, ...own, ...times])];
}

const WORTHLESS = -10;

function ownFirst(declared: readonly Declared[], read: (column: Declared, at: number) => Column): Column[] {
  const columns = declared.map(read);
  return [
    ...columns.filter((column) => !column.isBookkeeping),
    ...columns.filter((column) => column.isBookkeeping),
  ];
}

function bookkeepingColumn(name: string): Column {
  const isTime = name.endsWith('_at') || name.startsWith('_valid_');
  const kind = isTime ? 'time' : name === '_walk_id' ? 'number' : name === '_body' ? 'json' : 'text';
  const clock = isTime ? 'text' : null;
  return { name, kind, hasNumbers: kind === 'number', isBookkeeping: true, clock, worth: WORTHLESS };
}

type Seen = Pick<Column, 'name' | 'kind' | 'hasNumbers'> & { values: readonly PageCell[]; isEmpty: boolean };

function columnOf({ name, kind, hasNumbers, values, isEmpty }: Seen): Column {
  const clock = clockOf(name, kind, values);
  return { name, kind, hasNumbers, isBookkeeping: false, clock, worth: worthOf(kind, values, isEmpty) };
}

function worthOf(kind: Column['kind'], values: readonly PageCell[], isEmpty: boolean): number {
  if (isEmpty) return WORTHLESS;
  const letters = values.reduce<number>((most, value) => Math.max(most, String(value).length), 0);
  const isSame = values.length > 1 && values.every((value) => value === values[0]);
  const isAddress = values.some((value) => typeof value === 'string' && /^https?:/i.test(value));
  const faults: [boolean, number][] = [
    [kind === 'json', 3],
    [isAddress, 2],
    [letters > LONG_LETTERS, 1],
    [isSame, 4],
  ];
  return faults.reduce((worth, [isSo, less]) => worth - (isSo ? less : 0), 0);
}

function clockOf(name: string, kind: Column['kind'], values: readonly PageCell[]): Column['clock'] {
  if (kind === 'time') return 'text';
  const isDay = (value: PageCell) => typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value);
  if (kind === 'text') return values.length > 0 && values.every(isDay) ? 'text' : null;
  if (kind !== 'number' || !/(^|_)(at|ts|time|timestamp|date|epoch)(_ms|_seconds)?$/.test(name)) return null;
  const between = (low: number, high: number) =>
    values.length > 0 && values.every((value) => Number(value) >= low && Number(value) < high);
  return between(1e8, 1e10) ? 'seconds' : between(1e11, 1e13) ? 'milliseconds' : null;
}

function kindOfValues(values: readonly PageCell[]): 'time' | 'text' {
  const isTime = (value: PageCell) => typeof value === 'string' && momentOf(value) !== null;
  return values.length > 0 && values.every(isTime) ? 'time' : 'text';
}

const isNumeric = (value: PageCell) =>
  typeof value === 'number' || (typeof value === 'object' && value !== null && 'integer' in value);
const isJson = (value: PageCell) => typeof value === 'string' && /^[[{]/.test(value);

/** `example` is JSON, and cut where it was long. */
function exampleOf(text: string | null): PageCell {
  if (text === null) return null;
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'string' || typeof value === 'number' ? value : text;
  } catch {
    return text;
  }
}
