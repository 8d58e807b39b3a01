/** What checking a page yields. */

import type { SqlValue } from '../job.ts';

/** One thing wrong with a row: where, what was expected, what kind of value came. */
export type Problem = { path: string; expected: string; received: string };

/**
 * `new-value`, `out-of-range`, `extra-property`: differences from a contract.
 * `contradicted-key`: two different rows under one key, where the key was chosen on evidence.
 */
export type DriftKind = 'new-value' | 'out-of-range' | 'extra-property' | 'contradicted-key';

/** A difference from what was expected that does not keep a row out; `times` counts the rows that show it. */
export type Drift = { kind: DriftKind; path: string; detail: string; times: number };

export type AcceptedRow = { key: string; values: Record<string, SqlValue> };

/** `identity`: its key, or what stands for one where it shows none; the same each time the row comes. */
export type RefusedRow = { key: string | null; identity: string; body: string; problems: Problem[] };

export type CheckedRow =
  | ({ fits: true; drifts: readonly Drift[] } & AcceptedRow)
  | { fits: false; key: string | null; problems: Problem[] };

/** `big-integer`: a whole number beyond 2^53, whose digits only the text as received holds for sure. */
export type FieldType = 'boolean' | 'integer' | 'big-integer' | 'number' | 'string' | 'array' | 'object';

/** A field as the rows of a page show it. */
export type SeenField = {
  /** The names that lead to it, from the row down. */
  path: readonly string[];
  /** Empty where all of its values are null. */
  types: FieldType[];
  /** How many rows give it a value other than null. */
  values: number;
  /** One of those values. */
  example: unknown;
};

/** What was seen of the fields of rows whose shape is not specified. */
export type PageFields = { rows: number; fields: SeenField[] };
