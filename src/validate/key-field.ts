/** The field that tells the rows of a dataset apart, where the specification names none. */

import { sliceMember } from './raw.ts';

/** The name of the field that identifies a row, or null where a digest of the whole row does. */
export type KeyField = string | null;

/** Best first. A name alone is no proof: the values must be present, scalar and unique as well. */
const identifierNames = [
  /^_?id$/i,
  /^(uuid|guid|key)$/i,
  /([a-z0-9]I[dD]|[_-]id|[_-]?(uuid|guid))$/,
  /^(address|wallet|mint|hash|slug|signature)$/i,
  /(Address|_address|Hash|_hash|Mint|_mint)$/,
];

type Row = { record: Record<string, unknown>; body: string };

/** Chooses from the rows of one page. Fields that merely happen to differ from row to row are not considered. */
export function chooseKeyField(rows: readonly Row[]): KeyField {
  const names = Object.keys(rows[0]?.record ?? {});
  const ranked = identifierNames.flatMap((pattern) => names.filter((name) => pattern.test(name)));
  return ranked.find((name) => identifies(rows, name)) ?? null;
}

function identifies(rows: readonly Row[], name: string): boolean {
  const keys = rows.map(({ record, body }) => keyOf(record, name, body));
  return keys.every((key) => key !== undefined) && new Set(keys).size === keys.length;
}

/** @param body the row's JSON, which alone has all the digits of a large number. */
export function keyOf(record: Record<string, unknown>, name: string, body: string): string | undefined {
  const value = Object.hasOwn(record, name) ? record[name] : undefined;
  if (typeof value === 'string') return value || undefined;
  if (!Number.isInteger(value)) return undefined;
  if (Number.isSafeInteger(value)) return String(value);
  const digits = sliceMember(body, name);
  return digits && /^-?\d+$/.test(digits) ? digits : undefined;
}
