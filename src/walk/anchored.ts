/**
 * A dataset that may change between two pages. Each page is asked for from a row that was read before: where that row, the
 * anchor, is still the first one, as many rows precede it as before, so nothing slipped past the boundary. Where it is not,
 * the walk steps back until it meets a row it knows. At the end the beginning is read again.
 */

import { isWithinBound, MOST_STEPS_BACK, PAGE_ROWS, stepBackRows, widerOverlap } from './bounds.ts';
import { beginAnew, type PageFacts, type Place, type Step } from './checkpoint.ts';
import { advanceOf, freshRows, unkeyedRows, withAnomalies } from './evidence.ts';
import { endsTooEarly, goOn, lookBeyond } from './go-on.ts';
import { lookAtHead, turnToHead } from './head.ts';
import { anchorOf, isJoined, knownRows, knownUntil, overlapOf, shiftOf } from './join.ts';

export function advanceAnchored(before: Place, page: PageFacts): Step {
  if (page.received === 0 && page.pagination.hasMore) return goOn(before, page);
  if (before.phase === 'head') return lookAtHead(before, page);
  return isJoined(before, page) ? readOn(before, page) : stepBack(before, page);
}

function readOn(before: Place, page: PageFacts): Step {
  const { keys, seen, pagination } = page;
  const known = knownRows(before, page);
  const fresh = freshRows(page);
  const overlap = overlapOf(before, page);
  const anchor = anchorOf(page, overlap);
  const place = withAnomalies(
    {
      ...before,
      phase: 'rows',
      tries: 0,
      offset: page.offset + advanceOf(page),
      anchor,
      overlap,
      rows: before.rows + fresh,
      unkeyed: before.unkeyed + unkeyedRows(page, known),
      shifted: before.shifted + shiftOf(before, page),
      knownUntil: knownUntil(before, page),
    },
    seen.slice(known).includes(true) && 'repeat',
    keys.slice(0, known).some((key, at) => key !== null && !seen[at]) && 'disorder',
    !anchor && pagination.hasMore && 'unanchored',
  );
  return isLast(before, place, page) ? end(place, page) : goOn(place, page);
}

/** An envelope without `hasMore` ends where nothing new comes, unless rows are read again. */
function isLast({ anchor }: Place, { knownUntil }: Place, page: PageFacts): boolean {
  const { hasMore } = page.pagination;
  if (hasMore !== undefined) return !hasMore;
  return freshRows(page) === 0 && (knownUntil === null || page.received <= (anchor?.back ?? 0));
}

/** Further up, until a row is met that was read before; where that leads to the very beginning, begin anew. */
function stepBack(before: Place, page: PageFacts): Step {
  const { tries, stepsBack, total } = before;
  const from = Math.min(page.offset, total ?? page.offset);
  const place: Place = {
    ...before,
    phase: 'back',
    offset: Math.max(0, from - stepBackRows(before)),
    anchor: null,
    overlap: widerOverlap(before),
    tries: tries + 1,
    stepsBack: stepsBack + 1,
    knownUntil: before.knownUntil ?? page.offset + PAGE_ROWS,
  };
  if (tries >= MOST_STEPS_BACK || !isWithinBound(place)) return readOn(withAnomalies(before, 'lost'), page);
  return place.offset === 0 ? beginAnew(place) : { place, next: 'go on', met: 'skip' };
}

function end(place: Place, { pagination }: PageFacts): Step {
  if (pagination.hasMore === undefined)
    return { place: withAnomalies(place, 'inferred-end'), next: 'end', met: 'add' };
  const tooEarly = endsTooEarly(place);
  if (tooEarly && !place.lookedBeyond) return lookBeyond(place);
  return turnToHead(withAnomalies(place, tooEarly && 'total'));
}
