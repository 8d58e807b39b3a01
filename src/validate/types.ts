/** What checking a page yields. */

import type { SqlValue } from '../job.ts';

/** One thing wrong with a row: where, what was expected, what kind of value came. */
export type Problem = { path: string; expected: string; received: string };

export type DriftKind = 'new-value' | 'out-of-range' | 'extra-property' | 'contradicted-key';

/** A difference from the contract that does not keep a row out; `times` counts the rows of the page that show it. */
export type Drift = { kind: DriftKind; path: string; detail: string; times: number };

export type AcceptedRow = { key: string; values: Record<string, SqlValue> };
export type RefusedRow = { key: string | null; body: string; problems: Problem[] };

export type CheckedRow =
  | ({ fits: true; drifts: readonly Drift[] } & AcceptedRow)
  | { fits: false; key: string | null; problems: Problem[] };
