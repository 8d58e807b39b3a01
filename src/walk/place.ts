/** Where a walk stands: plain data, so that it survives with the page that brought it there. */

import type { Pagination } from '../validate.ts';
import type { Anomaly } from './anomaly.ts';

export type Phase =
  /** Reading forward. */
  | 'rows'
  /** Looking for a row read before, further and further up, since the anchor was not where it was left. */
  | 'back'
  /** The API said that there is no more, though its `total` says that there is: one more look. */
  | 'tail'
  /** Reading the beginning again, for rows that came in or moved up meanwhile. */
  | 'head';

export type Place = {
  phase: Phase;
  /** How many rows lie before those to be read next. */
  offset: number;
  /** The key of the last row read, to be met again at `offset - 1`; null to read on without one. */
  anchor: string | null;
  /** The snapshot that the walk reads; undefined before the first page, and where the envelope has none. */
  generatedAt: string | null | undefined;
  /** All pages of the walk, and those since it last began anew. */
  pages: number;
  pagesOfPass: number;
  /** Rows that no earlier page of this pass had brought. */
  rows: number;
  total: number | null;
  totalFirst: number | null;
  restarts: number;
  stepsBack: number;
  anomalies: Partial<Record<Anomaly, number>>;
  /** Steps back, or looks at the head, in this attempt. */
  tries: number;
  /** True while rows are read again after steps back. */
  catchingUp: boolean;
  /** Pages in a row that brought no new row. */
  fruitless: number;
};

export const beginning: Place = {
  phase: 'rows',
  offset: 0,
  anchor: null,
  generatedAt: undefined,
  pages: 0,
  pagesOfPass: 0,
  rows: 0,
  total: null,
  totalFirst: null,
  restarts: 0,
  stepsBack: 0,
  anomalies: {},
  tries: 0,
  catchingUp: false,
  fruitless: 0,
};

/** What the walk needs to know of a page. */
export type PageFacts = {
  /** The offset that was asked for. */
  offset: number;
  pagination: Pagination;
  generatedAt: string | null | undefined;
  received: number;
  /** The rows in order: the key, null where a row shows none, and whether this pass has met it before. */
  keys: readonly (string | null)[];
  seen: readonly boolean[];
};

/** `stuck`: nothing the API can be asked leads on. */
export type Step = { place: Place; next: 'go on' | 'anew' | 'end' | 'stuck' };
