/**
 * A dataset that may change between two pages. Each page is asked for from a row that was read before: where that row, the
 * anchor, is still the first one, as many rows precede it as before, so nothing slipped past the boundary. Where it is not,
 * the walk steps back until it meets a row it knows. At the end the beginning is read again: rows that came in or moved up
 * meanwhile moved all others down, which the anchors have counted; there they must be found.
 */

import {
  isWithinBound,
  MOST_HEAD_PAGES,
  MOST_STEPS_BACK,
  PAGE_ROWS,
  stepBackRows,
  widerOverlap,
} from './bounds.ts';
import {
  type AnchoredCheckpoint,
  anchored,
  type PageFacts,
  reset,
  type Step,
  withAnomalies,
} from './checkpoint.ts';
import { anchorOf, isJoined, overlapOf, rereadRows, rereadUntil, shiftOf } from './join.ts';
import {
  advanceOf,
  endsIn,
  endsTooEarly,
  freshRows,
  goOn,
  isReplaced,
  lookBeyond,
  turnPage,
  unkeyedRows,
} from './pages.ts';

/** @param mayBeNew how many of the rows met behind the head may have come in since the walk began. */
export function advanceAnchored(at: AnchoredCheckpoint, page: PageFacts, mayBeNew: number): Step {
  const before = {
    ...turnPage(at, page),
    replaced: at.replaced || isReplaced(at, page),
    longestPage: Math.max(at.longestPage, page.received),
  };
  if (page.received === 0 && page.pagination.hasMore) return goOn(before, page);
  if (before.phase === 'head') return lookAtHead(before, page, mayBeNew);
  return isJoined(before, page) ? readOn(before, page) : stepBack(before, page);
}

function readOn(before: AnchoredCheckpoint, page: PageFacts): Step {
  const { keys, met, pagination } = page;
  const known = rereadRows(before, page);
  const fresh = freshRows(page);
  const overlap = overlapOf(before, page);
  const anchor = anchorOf(page, overlap);
  const offset = page.offset + advanceOf(page);
  const until = rereadUntil(before, page);
  const isReread = until !== null;
  const checkpoint = withAnomalies<AnchoredCheckpoint>(
    {
      ...before,
      phase: 'rows',
      tries: 0,
      offset,
      anchor,
      overlap,
      rows: before.rows + fresh,
      unkeyed: before.unkeyed + unkeyedRows(page, known),
      readTo: isReread ? before.readTo : offset,
      shifted: before.shifted + (isReread ? 0 : shiftOf(before, page, known)),
      rereadUntil: until,
    },
    met.slice(known).includes(true) && 'repeat',
    keys.slice(0, known).some((key, at) => key !== null && !met[at]) && 'disorder',
    !anchor && pagination.hasMore && 'unanchored',
  );
  if (isLast(before, checkpoint, page)) return end(checkpoint, page);
  return goOn(checkpoint, page, isReread, fresh);
}

/** An envelope without `hasMore` ends where nothing new comes, unless rows are read again. */
function isLast(
  { anchor }: AnchoredCheckpoint,
  { rereadUntil }: AnchoredCheckpoint,
  page: PageFacts,
): boolean {
  const { hasMore } = page.pagination;
  if (hasMore !== undefined) return !hasMore;
  return freshRows(page) === 0 && (rereadUntil === null || page.received <= (anchor?.back ?? 0));
}

/** Further up, until a row is met that was read before; where that leads to the very beginning, the walk is reset. */
function stepBack(before: AnchoredCheckpoint, page: PageFacts): Step {
  const { tries, stepsBack, total } = before;
  const from = Math.min(page.offset, total ?? page.offset);
  const checkpoint: AnchoredCheckpoint = {
    ...before,
    phase: 'back',
    offset: Math.max(0, from - stepBackRows(before)),
    anchor: null,
    overlap: widerOverlap(before),
    tries: tries + 1,
    stepsBack: stepsBack + 1,
    rereadUntil: before.rereadUntil ?? page.offset + PAGE_ROWS,
  };
  if (tries >= MOST_STEPS_BACK || !isWithinBound(checkpoint))
    return readOn(withAnomalies(before, 'lost'), page);
  return checkpoint.offset === 0
    ? reset(anchored(checkpoint))
    : { checkpoint, next: 'go on', metRows: 'skip' };
}

function end(checkpoint: AnchoredCheckpoint, { pagination }: PageFacts): Step {
  if (pagination.hasMore === undefined)
    return { checkpoint: withAnomalies(checkpoint, 'inferred-end'), next: 'end', metRows: 'add' };
  const tooEarly = endsTooEarly(checkpoint);
  if (tooEarly && !checkpoint.lookedBeyond) return lookBeyond(checkpoint);
  return turnToHead(withAnomalies(checkpoint, tooEarly && 'total'));
}

function turnToHead(at: AnchoredCheckpoint): Step {
  if (at.pagesOfPass === 1) return finish(at, 0);
  const checkpoint: AnchoredCheckpoint = {
    ...at,
    phase: 'head',
    offset: 0,
    anchor: null,
    tries: 0,
    totalBeforeHead: at.total,
  };
  return { checkpoint, next: 'go on', metRows: 'add' };
}

/** Looks until a page ends in rows that are known, and no row is known to be lacking. */
function lookAtHead(before: AnchoredCheckpoint, page: PageFacts, mayBeNew: number): Step {
  const fresh = freshRows(page);
  const freshKnown = freshRows({ ...page, keys: page.keys.map((key, at) => (page.known[at] ? key : null)) });
  const checkpoint: AnchoredCheckpoint = {
    ...before,
    offset: page.offset + advanceOf(page),
    anchor: anchorOf(page),
    rows: before.rows + fresh,
    found: before.found + fresh,
    foundKnown: before.foundKnown + freshKnown,
    tries: before.tries + 1,
  };
  if (!isJoined(before, page)) return finish(withAnomalies(checkpoint, 'restless-head'), mayBeNew);
  if (!page.pagination.hasMore) return finish(checkpoint, mayBeNew);
  const isCalm = endsIn(page.met, page);
  if (isCalm && lackingRows(checkpoint, mayBeNew) <= 0) return finish(checkpoint, mayBeNew);
  if (checkpoint.tries < MOST_HEAD_PAGES) return { checkpoint, next: 'go on', metRows: 'add' };
  return finish(withAnomalies(checkpoint, !isCalm && 'restless-head'), mayBeNew);
}

/** How many rows must be there that no page has shown. */
function lackingRows(at: AnchoredCheckpoint, mayBeNew: number): number {
  return Math.max(lackingByTotal(at), lackingByShift(at, mayBeNew));
}

/**
 * Rows come and go during a walk; yet where fewer came than there were at its beginning and than there are at its end,
 * some were missed.
 */
function lackingByTotal({ rows, unkeyed, totalFirst, total }: AnchoredCheckpoint): number {
  return totalFirst === null || total === null ? 0 : Math.min(totalFirst, total) - rows - unkeyed;
}

/**
 * More rows came in above than were found there: old ones may have moved up unseen. Behind a complete walk, not more than
 * there were at the beginning and were not met; rows that came after the last row was read are no others that were found.
 */
function lackingByShift(at: AnchoredCheckpoint, mayBeNew: number): number {
  const { shifted, found, totalFirst, total, totalBeforeHead } = at;
  const unfound = shifted - found;
  if (totalFirst === null || total === null || mayBeNew === Number.POSITIVE_INFINITY) return unfound;
  const cameSince = Math.max(0, total - (totalBeforeHead ?? total));
  const oldRowsMet = at.rows + at.unkeyed - found + at.foundKnown - mayBeNew;
  return Math.min(unfound + cameSince, totalFirst - oldRowsMet);
}

function finish(at: AnchoredCheckpoint, mayBeNew: number): Step {
  const lacking = lackingByTotal(at) > 0 ? 'total' : lackingByShift(at, mayBeNew) > 0 && 'unfound';
  return { checkpoint: withAnomalies(at, lacking), next: 'end', metRows: 'add' };
}
