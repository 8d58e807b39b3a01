/** Where a walk stands: plain data, so that it survives with the page that brought it there. */

import type { Page } from '../page.ts';
import type { Anomaly } from './anomaly.ts';

export type Phase =
  /** Reading forward. */
  | 'rows'
  /** Looking for a row read before, further and further up, since the anchor was not where it was left. */
  | 'back'
  /** Reading the beginning again, for rows that came in or moved up meanwhile. */
  | 'head';

/** The last row read that shows a key, to be met again; `back` is how many rows before `offset` it stood. */
export type Anchor = { key: string; back: number };

export type Place = {
  phase: Phase;
  /** How many rows lie before those to be read next. */
  offset: number;
  /** Null to read on without one. */
  anchor: Anchor | null;
  /** The snapshot that the walk reads; undefined before the first page, and where the envelope has none. */
  generatedAt: string | null | undefined;
  /** True once the snapshot was replaced too often to be read whole: its pages are joined by anchors, whatever it says. */
  ignoresSnapshot: boolean;
  /** Pages of the passes before that. */
  pagesOfSnapshots: number;
  /** Whether the snapshot was replaced between two pages of this pass. */
  replaced: boolean;
  /** All pages of the walk, and those since it last began anew. */
  pages: number;
  pagesOfPass: number;
  /** Keys that no earlier page of this pass had brought, and rows that show no key. */
  rows: number;
  unkeyed: number;
  /** Rows that came in above what was read, as the anchors showed, and new rows found at the head. */
  shifted: number;
  found: number;
  /** As the API last said, and as it said at the beginning of this pass. */
  total: number | null;
  totalFirst: number | null;
  /** Rows of the longest page so far. */
  longestPage: number;
  restarts: number;
  stepsBack: number;
  anomalies: Partial<Record<Anomaly, number>>;
  /** How many rows before `offset` the anchor is taken; more than one after steps back. */
  overlap: number;
  /** Steps back, or looks at the head, in this attempt. */
  tries: number;
  /** While rows are read again, the offset by which new ones must come; else null. */
  knownUntil: number | null;
  /** Pages in a row that brought no new row. */
  fruitless: number;
  /** True once rows were asked for behind what the API called the end, because its `total` said otherwise. */
  lookedBeyond: boolean;
  /** Digest of the first page, by which a later walk can tell that nothing changed. */
  firstPage: string | null;
};

export const beginning: Place = {
  phase: 'rows',
  offset: 0,
  anchor: null,
  generatedAt: undefined,
  ignoresSnapshot: false,
  pagesOfSnapshots: 0,
  replaced: false,
  pages: 0,
  pagesOfPass: 0,
  rows: 0,
  unkeyed: 0,
  shifted: 0,
  found: 0,
  total: null,
  totalFirst: null,
  longestPage: 0,
  restarts: 0,
  stepsBack: 0,
  anomalies: {},
  overlap: 1,
  tries: 0,
  knownUntil: null,
  fruitless: 0,
  lookedBeyond: false,
  firstPage: null,
};

/** What the walk needs to know of a page. */
export type PageFacts = Pick<
  Page,
  'offset' | 'pagination' | 'generatedAt' | 'received' | 'keys' | 'seen' | 'digest'
>;

/**
 * What a page does to the set of rows met: its rows join it, or do not since nothing joins them to those read
 * before, or the set is emptied because the walk begins anew.
 */
export type Met = 'add' | 'skip' | 'clear';

/** `stuck`: nothing the API can be asked leads on. */
export type Step = { place: Place; next: 'go on' | 'end' | 'stuck'; met: Met };

/** The place behind a page, as far as any page moves it. */
export function turnPage(before: Place, page: PageFacts): Place {
  const { total = before.total } = page.pagination;
  return {
    ...before,
    pages: before.pages + 1,
    pagesOfPass: before.pagesOfPass + 1,
    generatedAt: page.generatedAt,
    replaced: before.replaced || isReplaced(before, page),
    total,
    totalFirst: before.totalFirst ?? total,
    longestPage: Math.max(before.longestPage, page.received),
    firstPage: before.firstPage ?? page.digest ?? null,
  };
}

/** Whether the page is of another snapshot than the one before it in this pass. */
export function isReplaced({ pagesOfPass, generatedAt }: Place, page: PageFacts): boolean {
  return pagesOfPass > 0 && page.generatedAt !== generatedAt;
}

/** Whether the pages are taken for those of one snapshot, which does not change; without a total nothing would add up. */
export function isOfSnapshot({ ignoresSnapshot, generatedAt, total }: Place): boolean {
  return !ignoresSnapshot && typeof generatedAt === 'string' && total !== null;
}

/** The place at the beginning again, behind a page that does not continue what was read. */
export function beginAnew(before: Place): Step {
  const { ignoresSnapshot, pagesOfSnapshots, pages, restarts, stepsBack } = before;
  return {
    place: { ...beginning, ignoresSnapshot, pagesOfSnapshots, pages, restarts: restarts + 1, stepsBack },
    next: 'go on',
    met: 'clear',
  };
}
