/** Rows of a dataset whose record shape is not specified: kept as received, under a key chosen on evidence. */

import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { asRecord } from './envelope.ts';
import { hostileProblems } from './hostile.ts';
import type { CheckedRow, Problem } from './types.ts';

/** The name of the field that identifies a row, or null where a digest of the whole row does. */
export type KeyField = string | null;

const DIGEST_CHARACTERS = 32;

/** Best first. A name alone is no proof: the values must be present, scalar and unique as well. */
const identifierNames = [
  /^_?id$/i,
  /^(uuid|guid|key)$/i,
  /([a-z0-9]I[dD]|[_-]id|[_-]?(uuid|guid))$/,
  /^(address|wallet|mint|hash|slug|signature)$/i,
  /(Address|_address|Hash|_hash|Mint|_mint)$/,
];

/** Chooses from the rows of one page. Fields that merely happen to differ from row to row are not considered. */
export function chooseKeyField(rows: readonly unknown[]): KeyField {
  const [first] = rows;
  const names = Object.keys(asRecord(first) ?? {});
  const ranked = identifierNames.flatMap((pattern) => names.filter((name) => pattern.test(name)));
  return ranked.find((name) => identifies(rows, name)) ?? null;
}

function identifies(rows: readonly unknown[], name: string): boolean {
  const values = rows.map((row) => keyValue(row, name));
  return values.every((value) => value !== undefined) && new Set(values).size === values.length;
}

/** @param body gives the row's JSON as received. */
export function checkDiscovered(row: unknown, field: KeyField, body: () => string): CheckedRow {
  if (!asRecord(row)) return refuse(null, [{ path: '', expected: 'an object', received: typeof row }]);
  const key = field === null ? undefined : keyValue(row, field);
  const problems = hostileProblems(row);
  if (problems.length > 0) return refuse(key ?? null, problems);
  // A row without the chosen field is known by its digest.
  return { fits: true, key: key ?? digestOf(row), values: { _body: body() }, drifts: [] };
}

const refuse = (key: string | null, problems: Problem[]): CheckedRow => ({ fits: false, key, problems });

/** A digest of what the row says, whatever the order of its members. */
export function digestOf(row: unknown): string {
  return createHash('sha256')
    .update(String(canonicalize(row)))
    .digest('hex')
    .slice(0, DIGEST_CHARACTERS);
}

function keyValue(row: unknown, name: string): string | undefined {
  const record = asRecord(row);
  const value = record && Object.hasOwn(record, name) ? record[name] : undefined;
  if (typeof value === 'string' && value !== '') return value;
  // Larger integers have already lost digits, so two rows could look like one.
  return Number.isSafeInteger(value) ? String(value) : undefined;
}
