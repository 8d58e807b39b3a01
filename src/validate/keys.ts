/**
 * The key of a row without a contract: values of fields that identify it, else a digest. `id` and its like are believed at once. Any
 * other field, or pair of fields, has to be unique over all rows of a whole walk: what is unique on one page may not be on two.
 */

import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import canonicalize from 'canonicalize';
import type { FieldPath } from './checked.ts';
import { sliceMember } from './json-text.ts';
import { asRecord, holdsLongNumber, valueAt } from './values.ts';

/** A row as it is told apart: parsed, and as received, since parsing loses the last digits of long numbers. */
export type KeyedRow = { record: Record<string, unknown>; body: string; inexact: boolean };

/** The same of a stored row. */
export function keyedRow(body: string): KeyedRow {
  const record = asRecord(JSON.parse(body)) ?? {};
  return { record, body, inexact: holdsLongNumber(body) };
}

const DIGEST_CHARACTERS = 32;

/**
 * A digest of the row that depends neither on the order of its members nor on the spelling of its numbers.
 * @param without fields that are no part of it.
 */
export function digestOf(row: KeyedRow, without: readonly FieldPath[]): string {
  return createHash('sha256').update(canonicalText(row, without)).digest('hex').slice(0, DIGEST_CHARACTERS);
}

function canonicalText({ record, body, inexact }: KeyedRow, without: readonly FieldPath[]): string {
  const members = Object.keys(record)
    .filter((name) => !without.some(([first, ...rest]) => first === name && rest.length === 0))
    .sort()
    .map((name): [string, string] => {
      const inner = asRecord(record[name]);
      const further = without.flatMap(([first, ...rest]) =>
        first === name && rest.length > 0 ? [rest] : [],
      );
      // Numbers that have lost digits would make different rows look alike: then the text is digested.
      const text = () => (inexact ? (sliceMember(body, name) ?? '') : String(canonicalize(record[name])));
      if (!inner || further.length === 0) return [name, text()];
      return [name, canonicalText({ record: inner, body: sliceMember(body, name) ?? '', inexact }, further)];
    });
  return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join()}}`;
}

/**
 * The key that these fields give a row; undefined where one of them is no text and no whole number, or empty.
 * A key of several fields has their values joined by `|`.
 */
export function keyOf(row: KeyedRow, fields: readonly FieldPath[]): string | undefined {
  const values = fields.map((path) => scalarAt(row, path));
  if (values.some((value) => value === undefined)) return undefined;
  if (values.length === 1) return values[0];
  // Else `a|b` and `c` would be as `a` and `b|c`.
  return values.map((value) => value?.replace(/[\\|]/g, '\\$&')).join('|');
}

/** The key of a row whose only key field is a text that looks like a number, if rows with that number are others. */
export function textKeyOf(row: KeyedRow, fields: readonly FieldPath[]): string | undefined {
  const [path, ...more] = fields;
  const value = path && more.length === 0 ? valueAt(row.record, path) : undefined;
  return typeof value === 'string' && /^-?\d+$/.test(value) ? JSON.stringify(value) : undefined;
}

/** The text of a text or whole number, with all its digits. */
function scalarAt({ record, body }: KeyedRow, path: FieldPath): string | undefined {
  const value = valueAt(record, path);
  if (typeof value === 'string') return value || undefined;
  if (!Number.isInteger(value)) return undefined;
  if (Number.isSafeInteger(value)) return String(value);
  const text = path.reduce<string | undefined>((inner, name) => inner && sliceMember(inner, name), body);
  return text && /^-?\d+$/.test(text) ? text : undefined;
}

/** Fields that are what their name says. */
const believedNames = /^_?(id|uuid|guid)$/i;

/** Fields that may identify a row, best first. */
const candidateNames = [
  /^key$/i,
  /([a-z0-9]I[dD]|[_-]id|uuid|guid)$/,
  /^(address|wallet|mint|hash|slug|signature)$/i,
  /(Address|_address|Hash|_hash|Mint|_mint|Key|_key|Slug|_slug)$/,
];

/** Fields that say where another one identifies. */
const qualifierNames = /^(chain|network|exchange|source|type)([_-]?(id|name))?$/i;

/** Fewer rows are no evidence that a field is unique. */
const LEAST_ROWS = 20;

/** The field that is believed to identify the rows of a first page; null where none is there in every row, or where rows share it. */
export function believedKey(rows: readonly KeyedRow[]): readonly FieldPath[] | null {
  const names = Object.keys(rows[0]?.record ?? {}).filter((name) => believedNames.test(name));
  // A number and a text alike are told apart by their type.
  const isUnique = (name: string) =>
    new Set(rows.map((row) => textKeyOf(row, [[name]]) ?? keyOf(row, [[name]]))).size === rows.length;
  const found = names.find(
    (name) => rows.every((row) => keyOf(row, [[name]]) !== undefined) && isUnique(name),
  );
  return found === undefined ? null : [[found]];
}

/** A row of a walk, to find the key in all of them. */
export type RowOfWalk = KeyedRow & {
  /** Whether it came first where rows were read again: then it may be a row shown before that has changed since. */
  isNewWhereReread: boolean;
};

/**
 * The fields that identify the rows of a whole walk: there in every row, unique over them, each row counted once as it was shown
 * last. Null where none does.
 * @param doubted keys that are not believed for now.
 */
export function findKey(
  rows: readonly RowOfWalk[],
  doubted: readonly (readonly FieldPath[])[] = [],
): readonly FieldPath[] | null {
  const names = Object.keys(rows[0]?.record ?? {});
  const believed = names.filter((name) => believedNames.test(name)).map((name) => [[name]]);
  const guessed = rows.length < LEAST_ROWS ? [] : guessedKeys(names);
  const isDoubted = (fields: readonly FieldPath[]) => doubted.some((key) => isDeepStrictEqual(key, fields));
  return [...believed, ...guessed].find((fields) => !isDoubted(fields) && identify(rows, fields)) ?? null;
}

function guessedKeys(names: readonly string[]): FieldPath[][] {
  const candidates = candidateNames.flatMap((pattern) => names.filter((name) => pattern.test(name)));
  const qualifiers = names.filter((name) => qualifierNames.test(name));
  const believed = names.filter((name) => believedNames.test(name));
  const pairs = [...believed, ...candidates].flatMap((name) =>
    qualifiers.filter((qualifier) => qualifier !== name).map((qualifier) => [[qualifier], [name]]),
  );
  return [...candidates.map((name) => [[name]]), ...pairs];
}

/** Whether these fields identify the rows of a whole walk. */
export function identify(rows: readonly RowOfWalk[], fields: readonly FieldPath[]): boolean {
  const met = new Set<string>();
  for (const row of rows) {
    const key = textKeyOf(row, fields) ?? keyOf(row, fields);
    if (key === undefined || (met.has(key) && !row.isNewWhereReread)) return false;
    if (!row.isNewWhereReread) met.add(key);
  }
  return rows.length > 0;
}

/** So many of the rows that came must be rows that went, for a difference between them to identify nothing: others are new. */
const MOST_ROWS = 0.5;
/** So many rows must have the same values, or texts of their own. */
const NEARLY_ALL_ROWS = 0.9;

/**
 * The fields without which rows that a walk met as new are those that it misses; empty where there are none.
 * @param pages the rows that came, by page: two of one page are two.
 * @param without fields that are no part of the digest already.
 * @param different of the rows that came, so many are different ones.
 * @param least so many of these must be told apart: while a list is read, rows come in, and others are read at two places.
 */
export function fieldsToLeaveOut(
  pages: readonly (readonly KeyedRow[])[],
  missing: readonly KeyedRow[],
  without: readonly FieldPath[],
  different: number,
  least = different,
): FieldPath[] {
  const came = pages.flat();
  const paths = pathsOf(came).filter((path) => !isAmong(without, path));
  const moved = paths.filter((path) => !haveSameValues(came, missing, path));
  // Places in a list change hands: their values stay the same.
  const numbers = paths.filter(
    (path) => isAmong(moved, path) || came.every(({ record }) => isNumber(valueAt(record, path))),
  );
  return (
    [moved, numbers].find(
      (some) => some.length > 0 && areSameRows(pages, missing, paths, some, without, different, least),
    ) ?? []
  );
}

const isAmong = (paths: readonly FieldPath[], path: FieldPath) =>
  paths.some((other) => other.join('\0') === path.join('\0'));

const isNumber = (value: unknown) => typeof value === 'number' || value === null || value === undefined;

function areSameRows(
  pages: readonly (readonly KeyedRow[])[],
  missing: readonly KeyedRow[],
  paths: readonly FieldPath[],
  leftOut: readonly FieldPath[],
  without: readonly FieldPath[],
  different: number,
  least: number,
): boolean {
  const left = paths.filter((path) => !isAmong(leftOut, path));
  if (!canIdentify(pages.flat(), left, paths.length, different)) return false;
  const digests = (rows: readonly KeyedRow[]) => rows.map((row) => digestOf(row, [...without, ...leftOut]));
  const ofMissing = new Set(digests(missing));
  const ofCame = new Map<string, string>();
  for (const page of pages) {
    const times = new Map<string, number>();
    for (const digest of digests(page)) {
      times.set(digest, (times.get(digest) ?? 0) + 1);
      ofCame.set(`${digest} ${times.get(digest)}`, digest);
    }
  }
  const both = [...ofCame.values()].filter((digest) => ofMissing.has(digest)).length;
  // Places tell the others apart, which say little.
  const alone = new Set(ofCame.values()).size;
  return ofCame.size >= least && Math.min(alone, both) >= different * MOST_ROWS;
}

/**
 * Whether what is left of rows can say that two are one: their texts can, or most of their fields. Two lists whose rows have nothing
 * but their places in common have other rows.
 */
function canIdentify(
  rows: readonly KeyedRow[],
  left: readonly FieldPath[],
  fields: number,
  different: number,
): boolean {
  if (left.length > fields / 2) return true;
  const textsOf = ({ record }: KeyedRow) =>
    left
      .map((path) => valueAt(record, path))
      .filter((value) => typeof value === 'string' && /\p{L}/u.test(value));
  return new Set(rows.map((row) => JSON.stringify(textsOf(row)))).size >= different * NEARLY_ALL_ROWS;
}

/** Members of the rows, and the members of their objects. */
function pathsOf(rows: readonly KeyedRow[]): FieldPath[] {
  const paths = new Map<string, FieldPath>();
  for (const { record } of rows)
    for (const [name, value] of Object.entries(record)) {
      const members = Object.keys(asRecord(value) ?? {});
      for (const path of members.length > 0 ? members.map((member) => [name, member]) : [[name]])
        paths.set(path.join('\0'), path);
    }
  return [...paths.values()];
}

/** Whether nearly all rows have a value at the path that as many of the others have. */
function haveSameValues(rows: readonly KeyedRow[], others: readonly KeyedRow[], path: FieldPath): boolean {
  const values = new Map<string, number>();
  const textOf = ({ record }: KeyedRow) => String(canonicalize(valueAt(record, path) ?? null));
  for (const other of others) values.set(textOf(other), (values.get(textOf(other)) ?? 0) + 1);
  let same = 0;
  for (const row of rows) {
    const left = values.get(textOf(row)) ?? 0;
    if (left > 0) same += 1;
    values.set(textOf(row), left - 1);
  }
  return same >= Math.min(rows.length, others.length) * NEARLY_ALL_ROWS;
}
