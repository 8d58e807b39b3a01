/** The results of validation: rows that fit, rows that do not, and what is new about them. */

import type { RowValues } from '../job.ts';

/** StandardPagination of the specification; a member is undefined where an unspecified envelope lacks it. */
type Pagination = {
  offset: number | undefined;
  limit: number | undefined;
  total: number | undefined;
  returned: number | undefined;
  hasMore: boolean | undefined;
};

/** A row in the table: its rowid there, and the walk that changed it last. */
export type RowRef = { rowid: number; walkId: number };

/** A row that fits. */
export type Row = {
  key: string;
  values: RowValues;
  /** Set where its text equals the stored one. */
  stored?: RowRef;
};

/** Rows that lie one after the other in the table, and how many bytes their bodies take, joined by commas. */
export type StoredRun = { rows: readonly Row[]; bytes: number };

/** What is wrong with a row: where, what was expected, what kind of value came. */
export type Problem = { path: string; expected: string; received: string };

/** A quarantined row: its JSON as received. `identity` is its key or, where that cannot be read, a digest by which it is known again. */
export type RefusedRow = { key: string | null; identity: string; body: string; problems: readonly Problem[] };

/** See the column `drift.kind`. */
type DriftKind =
  | 'new-value'
  | 'out-of-range'
  | 'extra-property'
  | 'contradicted-key'
  | 'new-field'
  | 'new-type'
  | 'vanished-field'
  | 'no-column'
  | 'more';

/** A difference from the contract or from earlier rows that does not keep a row out; `times` counts the rows that show it. */
export type Drift = { kind: DriftKind; path: string; detail: string; times: number };

/** `big-integer`: a whole number beyond 2^53, whose digits only the text as received holds for sure. */
export type FieldType = 'boolean' | 'integer' | 'big-integer' | 'number' | 'string' | 'array' | 'object';

/** A field as the rows of a page show it. */
export type SeenField = {
  /** The names that lead to it, from the row down. */
  path: readonly string[];
  /** Empty where all of its values are null. */
  types: readonly FieldType[];
  /** How many rows give it a value other than null. */
  values: number;
  /** One of those values. */
  example: unknown;
};

/** The fields of rows without a contract. Rows that equal the stored ones (`areStored`) have none to show. */
export type PageFields = { rows: number; fields: readonly SeenField[]; areStored?: true };

/** How a dataset without a contract is read: chosen once, by what its rows show, then kept. */
export type DiscoveredShape = {
  /** The names that lead to the array of rows within a page; none for a bare array. */
  rowsPath: readonly string[];
  /** The field that identifies a row, or null where a digest of the whole row does. */
  keyField: string | null;
  /** Values of that field that two different rows had at once: to their keys a digest is added. */
  sharedKeys: readonly string[];
};

export type CheckedRows = {
  /** The key of each row in the order of the page; null where a refused row shows none. */
  keys: readonly (string | null)[];
  /** One row a key: where a page repeats a key, its last row. */
  accepted: readonly Row[];
  refused: readonly RefusedRow[];
  drifts: readonly Drift[];
  fields: PageFields;
};

export type CheckedPage = CheckedRows & {
  pagination: Pagination;
  /** Undefined where the envelope has no such property. */
  generatedAt: string | null | undefined;
  /** How many rows came, refused ones included. */
  received: number;
  /** What it was read by; undefined for a specified dataset and before the first row. */
  shape: DiscoveredShape | undefined;
};

/** What became of one row. `key`: null where a refused row shows none. */
export type CheckedRow =
  | ({ fits: true; drifts: readonly Drift[] } & Pick<Row, 'key' | 'values'>)
  | { fits: false; key: string | null; problems: Problem[] };
