/**
 * A dataset that may change between two pages. The walk begins each page with a row that it has read before, the anchor.
 *
 * - A page that begins with the anchor: as many rows precede it as before, so no row slipped past the boundary.
 * - Any other page: the walk steps back until a page begins with a row that it has met.
 * - At the end the walk reads the head again. Rows that came in or moved up there have moved the anchors down; the walk must find
 *   as many at the head as the anchors have counted (`insertedAbove`).
 *
 * An example: rows 1 to 1,000, in pages of 100. The first page shows 1 to 100, so the anchor is row 100, and the next request is offset 99.
 * - Nothing changes: the page begins with 100.
 * - Row 7 goes: the page begins with 101. Did 101 follow 100, or did others slip by? Offset 79 shows 81 to 180, which joins.
 * - Two rows come in at the head: the page begins with 98. The first unread row, 101, stands at offset 102 instead of 100, so `insertedAbove`
 *   is 2. The head shows the two at the end, so `newAtHead` is 2, and no row is lacking.
 * - Row 900 moves to place 500 when that has been read: the next page begins a row too early, so `insertedAbove` is 1. Three pages of the head
 *   show nothing new, so `newAtHead` is 0: one row is lacking, and the walk proves nothing (`lackingByAnchors`).
 *
 * Whatever does not fit this is an anomaly, and a walk with an anomaly proves nothing (`verdictOf` in `walk.ts`).
 */

import {
  type Anchor,
  type AnchoredCheckpoint,
  advanceOf,
  anchored,
  askPastEnd,
  doubledRows,
  endsIn,
  endsTooEarly,
  freshRows,
  goOn,
  isReplaced,
  PAGE_ROWS,
  type PageFacts,
  repeatsOthers,
  reset,
  type Step,
  stepOf,
  turnPage,
  unkeyedRows,
  withAnomalies,
} from './checkpoint.ts';

/** Steps back in search of a row read before: a fifth of a page, then three times as far each time. */
const MAX_STEPS_BACK = 8;
/** Looks at the head for rows that came in meanwhile. */
export const MAX_HEAD_PAGES = 3;
/** Without a total, so many rows may have come in above what was read, from one page to the next. */
const MAX_ROWS_COME_IN = 10 * PAGE_ROWS;

/**
 * The most calls of a walk by anchors where pages are full: three passes, eight steps back in each, and the looks at the head.
 * A walk that has no calls left to step back reads on without proof.
 */
export function mostCalls(rows: number, pageRows: number = PAGE_ROWS): number {
  return 3 * (Math.ceil(rows / (pageRows - 1)) + MAX_STEPS_BACK) + MAX_HEAD_PAGES;
}

/** @param mayBeNew how many of the rows met behind the head may have come in since the walk began. */
export function advanceAnchored(at: AnchoredCheckpoint, page: PageFacts, mayBeNew: number): Step {
  const before = {
    ...turnPage(at, page),
    replaced: at.replaced || isReplaced(at, page),
    longestPage: Math.max(at.longestPage, page.received),
  };
  if (page.received === 0 && page.pagination.hasMore) return goOn(before, page);
  if (before.phase === 'head')
    return { ...lookAtHead(before, page, mayBeNew), reread: page.keys.length, isLookAtHead: true };
  return isJoined(before, page) ? readOn(before, page) : stepBack(before, page);
}

/** Whether the page continues what was read: it shows the anchor, or begins with a row that the walk has met. */
function isJoined({ phase, anchor }: AnchoredCheckpoint, { offset, keys, met }: PageFacts): boolean {
  if (offset === 0 || (anchor === null && phase !== 'back')) return true;
  const firstKeyed = keys.findIndex((key) => key !== null);
  return met[firstKeyed] === true || (anchor !== null && keys.includes(anchor.key));
}

function readOn(before: AnchoredCheckpoint, page: PageFacts): Step {
  const { keys, met, pagination } = page;
  const reread = rereadRows(before, page);
  const overlap = narrowerOverlap(before, page);
  const anchor = anchorOf(page, overlap);
  const offset = page.offset + advanceOf(page);
  const until = endOfReread(before, page);
  const isRereading = until !== null;
  const checkpoint = withAnomalies<AnchoredCheckpoint>(
    {
      ...before,
      phase: 'rows',
      tries: 0,
      offset,
      anchor,
      overlap,
      rows: before.rows + freshRows(page),
      unkeyed: before.unkeyed + unkeyedRows(page, reread),
      doubled: before.doubled + doubledRows(page, reread),
      endOfRead: isRereading ? before.endOfRead : offset,
      insertedAbove: before.insertedAbove + (isRereading ? 0 : rowsInsertedAbove(before, page, reread)),
      rereadUntil: until,
    },
    repeatsOthers(page, reread) && 'repeat',
    keys.slice(0, reread).some((key, at) => key !== null && !met[at]) && 'disorder',
    !anchor && pagination.hasMore && 'unanchored',
  );
  if (isLast(before, checkpoint, page)) return endOfRows(checkpoint, page, reread);
  return goOn(checkpoint, page, isRereading, isRereading ? keys.length : reread);
}

/** How many rows at the beginning of the page were read before; all rows behind them must be new. */
function rereadRows(
  { anchor, rereadUntil, endOfRead }: AnchoredCheckpoint,
  { keys, met }: PageFacts,
): number {
  const anchorAt = anchor && rereadUntil === null ? keys.indexOf(anchor.key) : -1;
  if (anchor && anchorAt >= 0) return anchorAt + anchor.back;
  // A row without a key may be any, but none was read before the first page.
  if (endOfRead === 0) return 0;
  const firstNew = keys.findIndex((key, at) => key !== null && !met[at]);
  return firstNew < 0 ? keys.length : firstNew;
}

/**
 * Up to which offset pages may show nothing but rows read before; null where new ones must come. So it is after steps back, where
 * rows that came in above moved the anchor off the page, and where the page is no longer than the overlap.
 */
function endOfReread(before: AnchoredCheckpoint, page: PageFacts): number | null {
  const offset = page.offset + advanceOf(page);
  const hasMovedOff = before.anchor !== null && !page.keys.includes(before.anchor.key);
  const farthest = hasMovedOff ? (before.total ?? offset + MAX_ROWS_COME_IN) : before.offset;
  const until = before.rereadUntil ?? farthest;
  return offset < until && freshRows(page) === 0 ? until : null;
}

/** How many rows came in above what was read, less those that went: by so many the unread rows moved down. */
function rowsInsertedAbove({ endOfRead }: AnchoredCheckpoint, { offset }: PageFacts, reread: number): number {
  return Math.max(0, offset + reread - endOfRead);
}

/**
 * The row at `overlap` from the end of the page, or the last one before it that shows a key, which no other row of the page has. The
 * first row of the page is no anchor: the next page would begin at the same offset.
 */
function anchorOf(page: PageFacts, overlap = 1): Anchor | null {
  const rows = advanceOf(page);
  const doubles = new Set(page.keys.filter((_, at) => page.doubled[at]));
  const alone = page.keys.slice(0, rows).map((key) => (doubles.has(key) ? null : key));
  const keys = alone.findLastIndex((key) => key !== null) > 0 ? alone : page.keys.slice(0, rows);
  const last = keys.findLastIndex((key) => key !== null);
  const within = keys.slice(0, Math.max(2, rows - overlap + 1)).findLastIndex((key) => key !== null);
  const at = within > 0 ? within : last;
  const key = page.keys[at] ?? null;
  return at > 0 && key !== null ? { key, back: rows - at } : null;
}

/** A page that begins with the anchor makes the next overlap a row smaller. */
function narrowerOverlap({ overlap, anchor }: AnchoredCheckpoint, { keys }: PageFacts): number {
  return anchor && keys[0] === anchor.key ? Math.max(1, overlap - 1) : overlap;
}

/** A step back doubles the next overlaps, up to a sixth of a page: where rows keep going, overlap is cheaper than steps back. */
function widerOverlap({ overlap, longestPage }: AnchoredCheckpoint): number {
  const most = Math.floor(Math.min(longestPage, PAGE_ROWS) / 6);
  return Math.max(1, Math.min(most, Math.max(4, 2 * overlap)));
}

/** Requests a page further up. At the very beginning the walk is reset; without steps left it reads on and proves nothing. */
function stepBack(before: AnchoredCheckpoint, page: PageFacts): Step {
  const { tries, stepsBack, total, longestPage } = before;
  const from = Math.min(page.offset, total ?? page.offset);
  const rows = Math.ceil(Math.min(longestPage, PAGE_ROWS) / 5) * 3 ** tries;
  const checkpoint: AnchoredCheckpoint = {
    ...before,
    phase: 'back',
    offset: Math.max(0, from - rows),
    anchor: null,
    overlap: widerOverlap(before),
    tries: tries + 1,
    stepsBack: stepsBack + 1,
    rereadUntil: before.rereadUntil ?? page.offset + PAGE_ROWS,
  };
  if (tries >= MAX_STEPS_BACK || !isWithinBound(checkpoint))
    return readOn(withAnomalies(before, 'lost'), page);
  return checkpoint.offset === 0 ? reset(anchored(checkpoint)) : { ...stepOf(checkpoint), metRows: 'skip' };
}

/** Whether a walk can still be read to its end from here within `mostCalls`. */
function isWithinBound(at: AnchoredCheckpoint): boolean {
  const { pages, pagesOfSnapshots, offset, rereadUntil, total, totalFirst, longestPage, overlap } = at;
  const rows = Math.max(offset, rereadUntil ?? 0, total ?? 0, totalFirst ?? 0);
  const pageRows = Math.min(Math.max(2, longestPage), PAGE_ROWS);
  const left = Math.ceil((rows - offset) / Math.max(1, pageRows - overlap));
  return pages - pagesOfSnapshots + left + MAX_HEAD_PAGES <= mostCalls(rows, pageRows);
}

/** A list without `hasMore` ends where nothing new comes, unless rows are read again. */
function isLast(before: AnchoredCheckpoint, { rereadUntil }: AnchoredCheckpoint, page: PageFacts): boolean {
  const { hasMore } = page.pagination;
  if (hasMore !== undefined) return !hasMore;
  return freshRows(page) === 0 && (rereadUntil === null || page.received <= (before.anchor?.back ?? 0));
}

/** All rows are read. Now the walk looks at the head, unless one page has shown it all. */
function endOfRows(checkpoint: AnchoredCheckpoint, { pagination }: PageFacts, reread: number): Step {
  if (pagination.hasMore === undefined && checkpoint.total === null)
    return { ...stepOf(withAnomalies(checkpoint, 'inferred-end'), 'end'), reread };
  const tooEarly = endsTooEarly(checkpoint);
  if (tooEarly && !checkpoint.askedPastEnd) return { ...askPastEnd(checkpoint), reread };
  const at = withAnomalies(checkpoint, tooEarly && 'total');
  if (at.pagesOfPass === 1) return { ...endOfWalk(at, 0), reread };
  const head = {
    ...at,
    phase: 'head' as const,
    offset: 0,
    anchor: null,
    tries: 0,
    totalBeforeHead: at.total,
  };
  return stepOf(head, 'go on', reread);
}

/** Looks until a page ends in rows that the walk has met, and no row is known to be lacking. */
function lookAtHead(before: AnchoredCheckpoint, page: PageFacts, mayBeNew: number): Step {
  const fresh = freshRows(page);
  const freshKnown = freshRows({ ...page, keys: page.keys.map((key, at) => (page.known[at] ? key : null)) });
  const checkpoint: AnchoredCheckpoint = {
    ...before,
    offset: page.offset + advanceOf(page),
    anchor: anchorOf(page),
    rows: before.rows + fresh,
    newAtHead: before.newAtHead + fresh,
    knownAtHead: before.knownAtHead + freshKnown,
    tries: before.tries + 1,
  };
  if (!isJoined(before, page)) return endOfWalk(withAnomalies(checkpoint, 'restless-head'), mayBeNew);
  if (page.pagination.hasMore === false) return endOfWalk(checkpoint, mayBeNew);
  const isCalm = endsIn(page.met, page);
  const lacksRows = lackingByTotal(checkpoint) > 0 || lackingByAnchors(checkpoint, mayBeNew) > 0;
  if (isCalm && !lacksRows) return endOfWalk(checkpoint, mayBeNew);
  if (checkpoint.tries < MAX_HEAD_PAGES) return stepOf(checkpoint);
  return endOfWalk(withAnomalies(checkpoint, !isCalm && 'restless-head'), mayBeNew);
}

/** The end of the walk, with an anomaly where rows must be there that no page has shown. */
function endOfWalk(at: AnchoredCheckpoint, mayBeNew: number): Step {
  const lacking = lackingByTotal(at) > 0 ? 'total' : lackingByAnchors(at, mayBeNew) > 0 && 'unfound';
  return stepOf(withAnomalies(at, lacking), 'end');
}

/**
 * How many rows were missed, by the totals. Rows come and go during a walk; yet fewer rows than there were at its beginning and
 * than there are at its end cannot be all.
 */
function lackingByTotal({ rows, unkeyed, doubled, totalFirst, total }: AnchoredCheckpoint): number {
  return Math.min(totalFirst ?? 0, total ?? 0) - rows - unkeyed - doubled;
}

/**
 * How many old rows may have moved up unseen: those that came in above (`insertedAbove`), less those that the head showed (`newAtHead`).
 * - Rows that came after the last row was read are at the head, too, and no anchor counted them: they are added. If `insertedAbove` is 0, no
 *   row moved past the anchors, so such rows came at the tail.
 * - A complete walk before this one gives a second bound: the rows at the beginning, less the old rows that this walk met. In the example
 *   of above, with row 900 unseen, that is 1,000 − 999 = 1. Had a new row come in at place 500 instead, it would be 1,000 − 1,000 = 0.
 */
function lackingByAnchors(at: AnchoredCheckpoint, mayBeNew: number): number {
  const { insertedAbove, newAtHead, totalFirst, total, totalBeforeHead } = at;
  const unfound = insertedAbove - newAtHead;
  if (total === null) return unfound;
  const cameSince = Math.max(0, total - (totalBeforeHead ?? total));
  if (mayBeNew === Number.POSITIVE_INFINITY) return insertedAbove > 0 ? unfound + cameSince : unfound;
  const oldRowsMet = at.rows + at.unkeyed + at.doubled - newAtHead + at.knownAtHead - mayBeNew;
  return Math.min(unfound + cameSince, (totalFirst ?? total) - oldRowsMet);
}
