/** The results of validation: rows that fit, rows that do not, and what is new about them. Whoever reads them loads no schema. */

import type { RowValues } from '../job.ts';

/** StandardPagination of the specification; a member is undefined where an unspecified envelope lacks it. */
type Pagination = {
  offset: number | undefined;
  limit: number | undefined;
  total: number | undefined;
  returned: number | undefined;
  hasMore: boolean | undefined;
};

/** A row that fits. */
export type Row = {
  /** Its key. In a list without a contract another row may turn out to have the same one: see `store/keys.ts`. */
  key: string;
  values: RowValues;
  /** Of a list without a contract. */
  discovered?: DiscoveredIdentity;
};

/** How a row of a list without a contract is told apart from others under its key. */
export type DiscoveredIdentity = {
  /** Its key if a number and a text alike are two rows; undefined where it cannot be mistaken for a number. */
  textKey: string | undefined;
  /** Of the row without its ages, computed when it is asked for. */
  digest(): string;
};

/** What is wrong with a row: where, what was expected, what kind of value came. */
export type Problem = { path: string; expected: string; received: string };

/** Two different rows have one key at once: the table holds one of them. */
export const sharedKey: Problem = {
  path: '',
  expected: 'a key of its own',
  received: 'that of another row',
};

/** A quarantined row: its JSON as received. `key`: null where it cannot be read. */
export type RefusedRow = { key: string | null; body: string; problems: readonly Problem[] };

/** See the column `drift.kind`. */
export type DriftKind =
  | 'new-value'
  | 'out-of-range'
  | 'extra-property'
  | 'contradicted-key'
  | 'new-key'
  | 'moved-rows'
  | 'moving-field'
  | 'new-field'
  | 'new-type'
  | 'vanished-field'
  | 'no-column'
  | 'more';

/** A difference from the contract or from earlier rows that does not keep a row out; `times` counts the rows that show it. */
export type Drift = { kind: DriftKind; path: string; detail: string; times: number };

/** `big-integer`: a whole number beyond 2^53, whose digits only the text as received holds for sure. */
export type FieldType = 'boolean' | 'integer' | 'big-integer' | 'number' | 'string' | 'array' | 'object';

/** The names that lead to a field, from the row down. */
export type FieldPath = readonly string[];

/** A field as the rows of a page show it. */
export type SeenField = {
  path: FieldPath;
  /** Empty where all of its values are null. */
  types: readonly FieldType[];
  /** How many rows give it a value other than null. */
  values: number;
  /** One of those values. */
  example: unknown;
};

/** The fields of rows without a contract. */
export type PageFields = { rows: number; fields: readonly SeenField[] };

/** What the user says of a list without a contract (`MIRROR_ROWS_…`, `MIRROR_KEY_…`, `MIRROR_VOLATILE_…`). */
export type Hints = {
  place?: readonly string[] | undefined;
  key?: readonly FieldPath[] | undefined;
  /** None is a list without fields: then every change is kept. */
  volatile?: readonly FieldPath[] | undefined;
};

/** What was found out of a list without a contract. It changes as a walk begins or ends, never within one. */
export type DiscoveredShape = {
  /** The names that lead to the array of rows within a page, none for a bare array; null as long as no page has shown it. */
  place: readonly string[] | null;
  /** Whether a proof has confirmed that place. */
  isPlaceProven: boolean;
  /** Runs in a row in which the place was missing. */
  runsWithoutPlace: number;
  /** The fields that identify a row; null where a digest of the row does. */
  key: readonly FieldPath[] | null;
  /** Whether a first page was asked for a key that can be believed by its name. Later only whole walks are asked. */
  hasLookedForKey: boolean;
  /** Two different rows had one key at once, or most rows had none: the key is found anew as a whole walk ends. */
  isKeyContradicted: boolean;
  /** Keys that two rows have shared, with the whole walks in a row since then over which each was unique. */
  doubted: readonly { key: readonly FieldPath[]; calmWalks: number }[];
  /** Keys under which the last walk met different rows one after the other, with their digests. */
  twins: readonly (readonly [key: string, digests: readonly string[]])[];
  /** Fields without which rows are still told apart: no part of a key that is a digest; they keep their versions. */
  leftOut: readonly FieldPath[];
  /** The ages when the keys were made: no part of any digest. */
  ages: readonly FieldPath[];
  /** What the user said of it when it was last read. */
  told: Hints;
};

/** Before anything was found out. */
export const unknownShape: DiscoveredShape = {
  place: null,
  isPlaceProven: false,
  runsWithoutPlace: 0,
  key: null,
  hasLookedForKey: false,
  isKeyContradicted: false,
  doubted: [],
  twins: [],
  leftOut: [],
  ages: [],
  told: {},
};

/** The fields of a key as the user names them. */
export const describeKey = (key: readonly FieldPath[]) => key.map((path) => path.join('.')).join(',');

/** One row of a page, in its place. */
export type CheckedRow =
  | { key: string; row: Row; refused?: undefined }
  | { key: string | null; row?: undefined; refused: RefusedRow };

export type CheckedRows = {
  /** In the order of the page. */
  rows: readonly CheckedRow[];
  drifts: readonly Drift[];
  fields: PageFields;
  /** How many rows have a key that was made for them, since they lack the field that others are known by. */
  withoutKeyField: number;
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
