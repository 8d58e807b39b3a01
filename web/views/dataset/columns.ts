/** What the columns of a dataset hold, and which of them are shown unless others are chosen: the most useful first. */

import type { PageCell, Schema } from '../../../src/serve/page/wire.ts';
import { timeOf } from '../../formats.ts';
import { isIdentity } from '../../kinds.ts';

export type DeclaredColumn = Schema['tables'][number]['columns'][number];

export type Dataset = Schema['jobs'][number] & { declared: readonly DeclaredColumn[] };

export type Column = {
  name: string;
  /** What it means, as plain text; may be empty. */
  about: string;
  /** `json`: lists and objects. `boolean`: 0 and 1. */
  kind: 'number' | 'time' | 'text' | 'json' | 'boolean';
  /** Whether some of its values are numbers, whatever the others are. */
  hasNumbers: boolean;
  /** Of the mirror, not of the dataset. */
  isBookkeeping: boolean;
  /** Whether it says the same as `_key`, which each row shows anyway. */
  isKey: boolean;
  /** How times are written: as text, or as a number of seconds or milliseconds. Null where they are none. */
  clock: 'text' | 'seconds' | 'milliseconds' | null;
  /** Whether its times can be compared as they are written: numbers, days, and texts in UTC. */
  isComparable: boolean;
  /** Whether the sample has so few values of it that they make a list to choose from. */
  hasFewValues: boolean;
  /** How useful it is to see: 0 for most columns, less for those that say little. */
  worth: number;
};

const MAX_SHOWN = 9;
const MAX_FACETS = 6;
const MAX_FACET_VALUES = 12;
const MAX_FACET_LETTERS = 40;
const LONG_LETTERS = 90;
/** Of a column that no row fills. */
const WORTHLESS = -10;

/** Whether only rows that are there have it: no version says whether its row was held. */
export const isHeldColumn = (name: string): boolean => name.startsWith('_held_');

export const isBookkeeping = (name: string): boolean => name.startsWith('_');

/**
 * The columns of the dataset in the order in which they are useful, then those of the mirror.
 * @param sample some rows, with their values in the order of `declared`.
 */
export function columnsOf(
  declared: readonly DeclaredColumn[],
  sample: readonly (readonly PageCell[])[],
): Column[] {
  const keyAt = declared.findIndex(({ name }) => name === '_key');
  const columns = declared.map((column, at) => {
    const isKey =
      column.name === '_key' ||
      (keyAt >= 0 && sample.length > 0 && sample.every((row) => textOf(row[at]) === textOf(row[keyAt])));
    return { ...describe(column, sample, at), isKey };
  });
  return columns.sort((one, other) => rankOf(one) - rankOf(other));
}

function describe(
  { name, type, kind: known, about = '' }: DeclaredColumn,
  sample: readonly (readonly PageCell[])[],
  at: number,
): Omit<Column, 'isKey'> {
  const values = sample.map((row) => row[at] ?? null).filter((value) => value !== null);
  const kind = kindOf(known, type, values);
  const isOfMirror = isBookkeeping(name);
  const distinct = new Set(values.map(textOf));
  return {
    name,
    about: about.replaceAll('`', ''),
    kind,
    hasNumbers: kind !== 'boolean' && (kind === 'number' || known === 'mixed' || values.some(isNumberCell)),
    isBookkeeping: isOfMirror,
    clock: clockOf(name, kind, values),
    isComparable: values.every(
      (value) => typeof value !== 'string' || /^\d{4}-\d\d-\d\d($|.*Z$)/.test(value),
    ),
    hasFewValues:
      !isOfMirror &&
      (kind === 'boolean' || kind === 'text') &&
      distinct.size > 0 &&
      distinct.size <= MAX_FACET_VALUES &&
      (distinct.size <= values.length / 2 || values.length < 8) &&
      [...distinct].every((value) => value.length <= MAX_FACET_LETTERS),
    worth: isOfMirror || (sample.length > 0 && values.length === 0) ? WORTHLESS : worthOf(name, kind, values),
  };
}

function kindOf(known: DeclaredColumn['kind'], type: string, values: readonly PageCell[]): Column['kind'] {
  if (known === 'boolean' || known === 'json') return known;
  if (known === 'bigint' || known === 'double precision' || known === 'numeric') return 'number';
  if (known === 'timestamp with time zone') return 'time';
  if (values.length > 0 && values.every(isTime)) return 'time';
  const isNumber = values.length === 0 ? /INT|REAL|NUM/i.test(type) : values.every(isNumberCell);
  return known !== 'mixed' && isNumber ? 'number' : 'text';
}

/** The names of those to show, in their order. @param preferred those that the job's file names. */
export function shownColumns(columns: readonly Column[], preferred: readonly string[] = []): string[] {
  const known = preferred.filter((name) => columns.some((column) => column.name === name));
  if (known.length > 0) return known;
  const own = columns.filter(({ isBookkeeping, isKey }) => !isBookkeeping && !isKey);
  const useful = own.filter(({ worth }) => worth > WORTHLESS);
  const some = useful.length > 0 ? useful : own;
  // Those with a name of use stay whatever they hold; of the others the plainest.
  const best = some.toSorted(
    (one, other) =>
      Math.min(rankOf(one), OTHERS) - Math.min(rankOf(other), OTHERS) || other.worth - one.worth,
  );
  const chosen = new Set(best.slice(0, MAX_SHOWN));
  return own.filter((column) => chosen.has(column)).map(({ name }) => name);
}

/** Those that tell rows apart at a glance, by their names alone: what, what of it, for how much. */
export function leadingColumns(declared: readonly DeclaredColumn[], preferred: readonly string[]): string[] {
  const named = declared.map(({ name }) => name).filter((name) => !isBookkeeping(name));
  const rank = (name: string) => ranks.findIndex((pattern) => pattern.test(name));
  const known = (preferred.length > 0 ? named.filter((name) => preferred.includes(name)) : named)
    .filter((name) => rank(name) > 0)
    .sort((one, other) => rank(one) - rank(other));
  return (known.length > 0 ? known : named.slice(1)).slice(0, MAX_LEADING);
}

const MAX_LEADING = 3;

/** Columns whose values are counted beside the rows, for a click on one of them. */
export const facetColumns = (columns: readonly Column[]): Column[] =>
  columns.filter(({ hasFewValues, isKey }) => hasFewValues && !isKey).slice(0, MAX_FACETS);

/** Where a text is looked for: numbers are found by filters. */
export function searchedColumns(columns: readonly Column[]): string[] {
  const texts = columns.filter(
    ({ isBookkeeping, kind }) => !isBookkeeping && kind !== 'number' && kind !== 'boolean',
  );
  return ['_key', ...texts.map(({ name }) => name)].slice(0, MAX_SEARCHED);
}

/** A question has a hundred conditions at most. */
const MAX_SEARCHED = 90;

export const numberColumns = (columns: readonly Column[]): Column[] =>
  columns.filter(
    ({ name, hasNumbers, isBookkeeping, clock }) =>
      hasNumbers && !isBookkeeping && clock === null && !isIdentity(name),
  );

/** Those of the dataset first: when it happened says more than when it was mirrored. */
export function timeColumns(columns: readonly Column[]): Column[] {
  const times = columns.filter(({ clock }) => clock !== null);
  return [
    ...times.filter((column) => !column.isBookkeeping),
    ...times.filter((column) => column.isBookkeeping),
  ];
}

/** By name, the first that fits: when, what, what of it, how good, for how much. */
const ranks: readonly RegExp[] = [
  /^(timestamp|time|date|datetime|(published|created|opened|issued|detected|fetched|last_active|last_seen)(_?(at|on|time))?)$/,
  /^(title|headline|name|symbol|asset|ticker|pair|label)$|_(title|headline|name|symbol|ticker)$/,
  /^(action|side|direction|alert|event|kind|type|signal)$/,
  /(^|_)grade$/,
  /^(confidence|score|rank|rating)$/,
  /^(status|state)$/,
  /^(?!.*change).*(^|_)price(_|$)/,
];
const OTHERS = ranks.length;
const BOOKKEEPING = OTHERS + 1;

function rankOf({ name, isBookkeeping, worth }: Pick<Column, 'name' | 'isBookkeeping' | 'worth'>): number {
  if (isBookkeeping) return BOOKKEEPING;
  const rank = ranks.findIndex((pattern) => pattern.test(name));
  return rank < 0 || worth <= WORTHLESS ? OTHERS : rank;
}

function worthOf(name: string, kind: Column['kind'], values: readonly PageCell[]): number {
  const letters = values.reduce<number>((most, value) => Math.max(most, textOf(value).length), 0);
  const isSame = values.length > 1 && values.every((value) => textOf(value) === textOf(values[0]));
  const isAddress = values.some(
    (value) => typeof value === 'string' && (/^https?:/i.test(value) || /^[\w-]{25,}$/.test(value)),
  );
  const faults: [boolean, number][] = [
    [kind === 'json', 3],
    [isAddress, 2],
    [letters > LONG_LETTERS, 1],
    [isSame, 4],
    [/decimals|version/i.test(name), 2],
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

const isTime = (value: PageCell) => typeof value === 'string' && timeOf(value) !== null;

const isNumberCell = (value: PageCell) =>
  typeof value === 'number' || (typeof value === 'object' && value !== null && 'integer' in value);

/** A value as its key is written. */
function textOf(value: PageCell | undefined): string {
  if (typeof value === 'object' && value !== null) return 'integer' in value ? value.integer : '';
  return String(value ?? '');
}
