/** Rows of a dataset whose record shape is not specified: kept as received, under a key chosen on evidence. */

import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { asRecord } from './envelope.ts';
import { inspect } from './hostile.ts';
import { kindOf } from './issues.ts';
import { chooseKeyField, type KeyField, keyOf } from './key-field.ts';
import { findRepeatedName, withPlainNames } from './names.ts';
import { profileRows } from './profile.ts';
import type { Slice } from './raw.ts';
import type { CheckedRow, Drift, PageFields, Problem } from './types.ts';

/** What was chosen to tell the rows apart, and what has spoken against it since. */
export type KeyChoice = {
  keyField: KeyField;
  /** Values of that field that two different rows were seen to bear at once: their rows go by their digest too. */
  sharedKeys: readonly string[];
};

export type DiscoveredRows = {
  rows: CheckedRow[];
  /** Undefined as long as no row was fit to choose from. */
  choice: KeyChoice | undefined;
  fields: PageFields;
};

/** Beyond so many shared keys the field identifies nothing, and every row goes by its digest too. */
const MOST_SHARED_KEYS = 1_000;
const DIGEST_CHARACTERS = 32;
const LONGEST_DETAIL = 100;

/** @param slices each row as received. */
export function checkDiscovered(
  rows: readonly unknown[],
  slices: readonly Slice[],
  known: KeyChoice | undefined,
): DiscoveredRows {
  const read = rows.map((row, at) => readRow(row, slices[at] as Slice));
  const fit = read.filter(isFit);
  const chosen = known ?? (fit.length > 0 ? { keyField: chooseKeyField(fit), sharedKeys: [] } : undefined);
  const choice = chosen && withSharedKeys(chosen, fit);
  const shared = new Set(choice?.sharedKeys);
  return {
    rows: read.map((row) =>
      isFit(row) ? accept(row, choice as KeyChoice, shared) : refuse(row, choice?.keyField ?? null),
    ),
    choice,
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

function accept(row: FitRow, { keyField }: KeyChoice, shared: ReadonlySet<string>): CheckedRow {
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

function refuse({ row, body, problem }: UnfitRow, keyField: KeyField): CheckedRow {
  const record = asRecord(row);
  const key = record && keyField !== null ? keyOf(record, keyField, body) : undefined;
  return { fits: false, key: key?.isWellFormed() ? key : null, problems: [problem] };
}

/** Two different rows under one key on one page contradict the choice of that key. */
function withSharedKeys(choice: KeyChoice, rows: readonly FitRow[]): KeyChoice {
  const { keyField, sharedKeys } = choice;
  if (keyField === null || sharedKeys.length >= MOST_SHARED_KEYS) return choice;
  const shared = new Set(sharedKeys);
  const first = new Map<string, FitRow>();
  for (const row of rows) {
    const key = keyOf(row.record, keyField, row.body);
    if (key === undefined || shared.has(key)) continue;
    const other = first.get(key);
    if (!other) first.set(key, row);
    else if (other.body !== row.body && digestOf(other) !== digestOf(row)) shared.add(key);
  }
  if (shared.size === sharedKeys.length) return choice;
  return { keyField, sharedKeys: [...shared].slice(0, MOST_SHARED_KEYS) };
}

function digestOf({ record, body, inexact }: FitRow): string {
  // Numbers that have lost digits would make different rows look alike, so the text itself is digested then.
  return createHash('sha256')
    .update(inexact ? body : String(canonicalize(record)))
    .digest('hex')
    .slice(0, DIGEST_CHARACTERS);
}
