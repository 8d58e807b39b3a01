/** Rows of a dataset whose record shape is not specified: kept as received, under a key chosen on evidence. */

import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { DiscoveredShape, Drift, PageFields, Problem } from './checked.ts';
import { asRecord } from './envelope.ts';
import { type CheckedRow, kindOf } from './findings.ts';
import { profileRows } from './profile.ts';
import { type Slice, sliceMember } from './raw.ts';
import { findRepeatedName, inspect, withPlainNames } from './storable.ts';

type DiscoveredRows = {
  checked: CheckedRow[];
  /** Undefined as long as no row was fit to choose from. */
  shape: DiscoveredShape | undefined;
  fields: PageFields;
};

/** Beyond so many shared keys the field identifies nothing, and every row goes by its digest too. */
const MOST_SHARED_KEYS = 1_000;
const DIGEST_CHARACTERS = 32;
const LONGEST_DETAIL = 100;

/**
 * @param slices each row as received.
 * @param rowsPath where they were found.
 * @param known the shape discovered of this dataset before; the same comes back where nothing speaks against it.
 */
export function checkDiscovered(
  rows: readonly unknown[],
  slices: readonly Slice[],
  rowsPath: readonly string[],
  known: DiscoveredShape | undefined,
): DiscoveredRows {
  const read = rows.map((row, at) => readRow(row, slices[at] as Slice));
  const fit = read.filter(isFit);
  const choose = () => ({ rowsPath, keyField: chooseKeyField(fit), sharedKeys: [] });
  const chosen = known ?? (fit.length > 0 ? choose() : undefined);
  const shape = chosen && withSharedKeys(chosen, fit);
  const shared = new Set(shape?.sharedKeys);
  return {
    checked: read.map((row) =>
      isFit(row) ? accept(row, shape as DiscoveredShape, shared) : refuse(row, shape?.keyField ?? null),
    ),
    shape,
    fields: profileRows(fit.map(({ record }) => record)),
  };
}

/** A row that can be kept; its digest tells what it says, whatever the order of its members. */
type FitRow = {
  record: Record<string, unknown>;
  body: string;
  inexact: boolean;
};
type UnfitRow = { row: unknown; body: string; problem: Problem };

const isFit = (row: FitRow | UnfitRow): row is FitRow => 'record' in row;

function readRow(row: unknown, slice: Slice): FitRow | UnfitRow {
  const body = slice.text;
  const record = asRecord(row);
  if (!record) return { row, body, problem: { path: '', expected: 'an object', received: kindOf(row) } };
  const { problem: hostile, members, inexact } = inspect(record);
  const problem = hostile ?? findRepeatedName(slice, members);
  return problem ? { row, body, problem } : { record, body: withPlainNames(body), inexact };
}

function accept(row: FitRow, { keyField }: DiscoveredShape, shared: ReadonlySet<string>): CheckedRow {
  const key = keyField === null ? undefined : keyOf(row.record, keyField, row.body);
  const drifts: Drift[] = [];
  const contradicted = (detail: string) =>
    drifts.push({ kind: 'contradicted-key', path: keyField ?? '', detail, times: 1 });
  const values = { _body: row.body };
  if (key === undefined) {
    if (keyField !== null) contradicted('a row without it');
    return { fits: true, key: digestOf(row), values, drifts };
  }
  if (!shared.has(key) && shared.size < MOST_SHARED_KEYS) return { fits: true, key, values, drifts };
  contradicted(`two rows share ${key.slice(0, LONGEST_DETAIL).toWellFormed()}`);
  return { fits: true, key: `${key}#${digestOf(row)}`, values, drifts };
}

function refuse({ row, body, problem }: UnfitRow, keyField: DiscoveredShape['keyField']): CheckedRow {
  const record = asRecord(row);
  const key = record && keyField !== null ? keyOf(record, keyField, body) : undefined;
  return { fits: false, key: key?.isWellFormed() ? key : null, problems: [problem] };
}

/** Two different rows under one key on one page contradict the choice of that key. */
function withSharedKeys(shape: DiscoveredShape, rows: readonly FitRow[]): DiscoveredShape {
  const { keyField, sharedKeys } = shape;
  if (keyField === null || sharedKeys.length >= MOST_SHARED_KEYS) return shape;
  const shared = new Set(sharedKeys);
  const first = new Map<string, FitRow>();
  for (const row of rows) {
    const key = keyOf(row.record, keyField, row.body);
    if (key === undefined || shared.has(key)) continue;
    const other = first.get(key);
    if (!other) first.set(key, row);
    else if (other.body !== row.body && digestOf(other) !== digestOf(row)) shared.add(key);
  }
  if (shared.size === sharedKeys.length) return shape;
  return { ...shape, sharedKeys: [...shared].slice(0, MOST_SHARED_KEYS) };
}

function digestOf({ record, body, inexact }: FitRow): string {
  // Numbers that have lost digits would make different rows look alike, so the text itself is digested then.
  return createHash('sha256')
    .update(inexact ? body : String(canonicalize(record)))
    .digest('hex')
    .slice(0, DIGEST_CHARACTERS);
}

/** Best first. A name alone is no proof: the values must be present, scalar and unique as well. */
const identifierNames = [
  /^_?id$/i,
  /^(uuid|guid|key)$/i,
  /([a-z0-9]I[dD]|[_-]id|[_-]?(uuid|guid))$/,
  /^(address|wallet|mint|hash|slug|signature)$/i,
  /(Address|_address|Hash|_hash|Mint|_mint)$/,
];

/** Chooses from the rows of one page. Fields that merely happen to differ from row to row are not considered. */
function chooseKeyField(rows: readonly FitRow[]): string | null {
  const names = Object.keys(rows[0]?.record ?? {});
  const ranked = identifierNames.flatMap((pattern) => names.filter((name) => pattern.test(name)));
  return ranked.find((name) => identifies(rows, name)) ?? null;
}

function identifies(rows: readonly FitRow[], name: string): boolean {
  const keys = rows.map(({ record, body }) => keyOf(record, name, body));
  return keys.every((key) => key !== undefined) && new Set(keys).size === keys.length;
}

/** @param body the row's JSON, which alone has all the digits of a large number. */
function keyOf(record: Record<string, unknown>, name: string, body: string): string | undefined {
  const value = Object.hasOwn(record, name) ? record[name] : undefined;
  if (typeof value === 'string') return value || undefined;
  if (!Number.isInteger(value)) return undefined;
  if (Number.isSafeInteger(value)) return String(value);
  const digits = sliceMember(body, name);
  return digits && /^-?\d+$/.test(digits) ? digits : undefined;
}
