/** Rows without a contract: kept as received, under a key that the rows themselves suggest. */

import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { CheckedRow, DiscoveredShape, Drift, PageFields, Problem } from './checked.ts';
import { findRepeatedName, sliceMember, withPlainNames } from './json-text.ts';
import { asRecord, inspect, kindOf, LONGEST_SHOWN, profileRows } from './values.ts';

type DiscoveredRows = {
  checked: CheckedRow[];
  /** Undefined as long as no row was fit to choose from. */
  shape: DiscoveredShape | undefined;
  fields: PageFields;
};

/** Beyond so many shared keys the field identifies nothing: a digest is added to every key. */
const MAX_SHARED_KEYS = 1_000;
const DIGEST_CHARACTERS = 32;

/**
 * @param bodies each row as received.
 * @param rowsPath where they were found.
 * @param known the shape discovered before; it comes back unless the rows contradict it.
 */
export function checkDiscovered(
  rows: readonly unknown[],
  bodies: readonly string[],
  rowsPath: readonly string[],
  known: DiscoveredShape | undefined,
): DiscoveredRows {
  const read = rows.map((row, at) => readRow(row, bodies[at] as string));
  const keepable = read.filter(isKeepable);
  const choose = () => ({ rowsPath, keyField: chooseKeyField(keepable), sharedKeys: [] });
  const chosen = known ?? (keepable.length > 0 ? choose() : undefined);
  const shape = chosen && withSharedKeys(chosen, keepable);
  const shared = new Set(shape?.sharedKeys);
  return {
    checked: read.map((row) =>
      isKeepable(row) ? accept(row, shape as DiscoveredShape, shared) : refuse(row, shape?.keyField ?? null),
    ),
    shape,
    fields: profileRows(keepable.map(({ record }) => record)),
  };
}

/** A row that can be kept. `inexact`: only its body has the last digits of its numbers. */
type KeepableRow = { record: Record<string, unknown>; body: string; inexact: boolean };
type RowWithProblem = { row: unknown; body: string; problem: Problem };

const isKeepable = (row: KeepableRow | RowWithProblem): row is KeepableRow => 'record' in row;

function readRow(row: unknown, body: string): KeepableRow | RowWithProblem {
  const record = asRecord(row);
  if (!record) return { row, body, problem: { path: '', expected: 'an object', received: kindOf(row) } };
  const { problem: hostile, members, inexact } = inspect(record);
  const problem = hostile ?? findRepeatedName(body, members);
  return problem ? { row, body, problem } : { record, body: withPlainNames(body), inexact };
}

function accept(row: KeepableRow, { keyField }: DiscoveredShape, shared: ReadonlySet<string>): CheckedRow {
  const key = keyField === null ? undefined : keyOf(row.record, keyField, row.body);
  const values = { _body: row.body };
  const contradicted = (detail: string): Drift[] => [
    { kind: 'contradicted-key', path: keyField ?? '', detail, times: 1 },
  ];
  if (key === undefined)
    return {
      fits: true,
      key: digestOf(row),
      values,
      drifts: keyField === null ? [] : contradicted('a row without it'),
    };
  if (!shared.has(key) && shared.size < MAX_SHARED_KEYS) return { fits: true, key, values, drifts: [] };
  const drifts = contradicted(`two rows share ${key.slice(0, LONGEST_SHOWN).toWellFormed()}`);
  return { fits: true, key: `${key}#${digestOf(row)}`, values, drifts };
}

function refuse({ row, body, problem }: RowWithProblem, keyField: string | null): CheckedRow {
  const record = asRecord(row);
  const key = record && keyField !== null ? keyOf(record, keyField, body) : undefined;
  return { fits: false, key: key?.isWellFormed() ? key : null, problems: [problem] };
}

/** Two different rows under one key on one page contradict the choice of that key. */
function withSharedKeys(shape: DiscoveredShape, rows: readonly KeepableRow[]): DiscoveredShape {
  const { keyField, sharedKeys } = shape;
  if (keyField === null || sharedKeys.length >= MAX_SHARED_KEYS) return shape;
  const shared = new Set(sharedKeys);
  const first = new Map<string, KeepableRow>();
  for (const row of rows) {
    const key = keyOf(row.record, keyField, row.body);
    if (key === undefined || shared.has(key)) continue;
    const other = first.get(key);
    if (!other) first.set(key, row);
    else if (other.body !== row.body && digestOf(other) !== digestOf(row)) shared.add(key);
  }
  if (shared.size === sharedKeys.length) return shape;
  return { ...shape, sharedKeys: [...shared].slice(0, MAX_SHARED_KEYS) };
}

/** A digest that does not depend on the order of members. */
function digestOf({ record, body, inexact }: KeepableRow): string {
  // Numbers that have lost digits would make different rows look alike: then the text is digested.
  return createHash('sha256')
    .update(inexact ? body : String(canonicalize(record)))
    .digest('hex')
    .slice(0, DIGEST_CHARACTERS);
}

/** Best first. The values must be present, scalar and unique as well. */
const identifierNames = [
  /^_?id$/i,
  /^(uuid|guid|key)$/i,
  /([a-z0-9]I[dD]|[_-]id|uuid|guid)$/,
  /^(address|wallet|mint|hash|slug|signature)$/i,
  /(Address|_address|Hash|_hash|Mint|_mint)$/,
];

/** Chooses by the rows of one page, among fields that are named like identifiers. */
function chooseKeyField(rows: readonly KeepableRow[]): string | null {
  const names = Object.keys(rows[0]?.record ?? {});
  const ranked = identifierNames.flatMap((pattern) => names.filter((name) => pattern.test(name)));
  return ranked.find((name) => identifies(rows, name)) ?? null;
}

function identifies(rows: readonly KeepableRow[], name: string): boolean {
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
