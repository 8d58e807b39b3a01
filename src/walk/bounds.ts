/** How far a walk may go: no answer of the API can keep it running for ever. */

import type { AnchoredCheckpoint, Checkpoint } from './checkpoint.ts';

/** The most rows that a page may have (specification, Limits). */
export const PAGE_ROWS = 100;

/** A snapshot that is replaced while it is read is begun again this often, and then read by anchors. */
export const MOST_RESTARTS = 2;
/** Steps back in search of a row read before: a fifth of a page, then three times as far each time. */
export const MOST_STEPS_BACK = 8;
/** Looks at the beginning for rows that came in meanwhile. */
export const MOST_HEAD_PAGES = 3;
/** Without a total, so many rows may have come in above what was read, from one page to the next. */
export const FAR = 10 * PAGE_ROWS;
/** Pages in a row that bring no row the walk has not met. */
export const MOST_FRUITLESS = 3;

/** Pages of a walk to which the API gives no `total`. */
const MOST_PAGES_WITHOUT_TOTAL = 100_000;
/** A `total` that is too small ends no walk before so many. */
const FEWEST_PAGES = 1_000;
/** So many times what a walk may take at worst, since a `total` is no promise. */
const TIMES_THE_WORST = 3;

/**
 * The most calls that a walk by anchors over `rows` rows may take where pages are full: three passes, eight steps back
 * in each, and the looks at the head. A walk that cannot step back within it reads on without proof.
 */
export function mostCalls(rows: number, pageRows: number = PAGE_ROWS): number {
  return 3 * (Math.ceil(rows / (pageRows - 1)) + MOST_STEPS_BACK) + MOST_HEAD_PAGES;
}

/** The same of a list with `generatedAt`: three passes before that which hold to a snapshot, each with a look beyond its end. */
export function mostCallsOfSnapshot(rows: number, pageRows: number = PAGE_ROWS): number {
  return (MOST_RESTARTS + 1) * (Math.ceil(rows / pageRows) + 1) + mostCalls(rows, pageRows);
}

/** How many rows the next step goes back. */
export function stepBackRows({ tries, longestPage }: AnchoredCheckpoint): number {
  return Math.ceil(Math.min(longestPage, PAGE_ROWS) / 5) * 3 ** tries;
}

/** The overlap of pages after a step back: never more than a part of a page. */
export function widerOverlap({ overlap, longestPage }: AnchoredCheckpoint): number {
  const most = Math.floor(Math.min(longestPage, PAGE_ROWS) / 6);
  return Math.max(1, Math.min(most, Math.max(4, 2 * overlap)));
}

/** Whether a walk that stands here can still be read to its end within its bound. */
export function isWithinBound(at: AnchoredCheckpoint): boolean {
  const { pages, pagesOfSnapshots, offset, rereadUntil, total, totalFirst, longestPage, overlap } = at;
  const rows = Math.max(offset, rereadUntil ?? 0, total ?? 0, totalFirst ?? 0);
  const pageRows = Math.min(Math.max(2, longestPage), PAGE_ROWS);
  const left = Math.ceil((rows - offset) / Math.max(1, pageRows - overlap));
  return pages - pagesOfSnapshots + left + MOST_HEAD_PAGES <= mostCalls(rows, pageRows);
}

/**
 * The last resort, against an API that makes up new rows for ever: what the first page said there are counts, whatever is said
 * later. Where pages are short, a list has more of them.
 */
export function isEndless({ pages, pagesOfPass, offset, totalOfWalk }: Checkpoint): boolean {
  if (totalOfWalk === null) return pages >= MOST_PAGES_WITHOUT_TOTAL;
  const pageRows = Math.min(PAGE_ROWS, Math.max(2, Math.ceil(offset / Math.max(1, pagesOfPass))));
  return pages >= Math.max(FEWEST_PAGES, TIMES_THE_WORST * mostCalls(totalOfWalk, pageRows));
}
