/**
 * A dataset that may change between two pages. Each page is asked for from one row earlier: where that row, the
 * anchor, is still the first one, as many rows precede it as before, so nothing slipped past the boundary. Where
 * it is not, the walk steps back until it meets a row it knows. At the end the beginning is read again.
 */

import { isWithinBound, MOST_HEAD_PAGES, MOST_STEPS_BACK, PAGE_ROWS, stepBackRows } from './bounds.ts';
import { advanceOf, freshRows, unkeyedRows, withAnomalies } from './evidence.ts';
import { endsTooEarly, goOn, lookBeyond } from './go-on.ts';
import { anchorOf, isJoined, knownRows } from './join.ts';
import type { PageFacts, Place, Step } from './place.ts';

export function advanceAnchored(before: Place, page: PageFacts): Step {
  if (page.received === 0 && page.pagination.hasMore) return goOn(before, page);
  if (before.phase === 'head') return lookAtHead(before, page);
  return isJoined(before, page) ? readOn(before, page) : stepBack(before, page);
}

function readOn(before: Place, page: PageFacts): Step {
  const { keys, seen, pagination } = page;
  const known = knownRows(before, page);
  const fresh = freshRows(page);
  const offset = page.offset + advanceOf(page);
  const anchor = anchorOf(page);
  const catchingUp = before.lostAt !== null && fresh === 0 && offset < before.lostAt + PAGE_ROWS;
  const place = withAnomalies(
    {
      ...before,
      phase: 'rows',
      tries: 0,
      offset,
      anchor,
      rows: before.rows + fresh,
      unkeyed: before.unkeyed + unkeyedRows(page, known),
      lostAt: catchingUp ? before.lostAt : null,
    },
    seen.slice(known).includes(true) && 'repeat',
    keys.slice(0, known).some((key, at) => key !== null && !seen[at]) && 'disorder',
    !anchor && pagination.hasMore && 'unanchored',
  );
  const isLast = pagination.hasMore === undefined ? fresh === 0 : !pagination.hasMore;
  return isLast ? end(place, page) : goOn(place, page);
}

/** Further up, until a row is met that was read before; from the very beginning every row counts as joined. */
function stepBack(before: Place, page: PageFacts): Step {
  const { tries, stepsBack, lostAt, total } = before;
  const from = Math.min(page.offset, total ?? page.offset);
  const place: Place = {
    ...before,
    phase: 'back',
    offset: Math.max(0, from - stepBackRows(before)),
    anchor: null,
    tries: tries + 1,
    stepsBack: stepsBack + 1,
    lostAt: lostAt ?? page.offset,
  };
  if (tries < MOST_STEPS_BACK && isWithinBound(place)) return { place, next: 'go on', met: 'skip' };
  return readOn(withAnomalies(before, 'lost'), page);
}

function end(place: Place, { pagination }: PageFacts): Step {
  if (pagination.hasMore === undefined) return finish(withAnomalies(place, 'inferred-end'));
  const tooEarly = endsTooEarly(place);
  if (tooEarly && !place.lookedBeyond) return lookBeyond(place);
  const ended = withAnomalies(place, tooEarly && 'total');
  if (ended.pagesOfPass === 1) return finish(ended);
  return {
    place: { ...ended, phase: 'head', offset: 0, anchor: null, tries: 0 },
    next: 'go on',
    met: 'add',
  };
}

/** Rows that came in or moved up meanwhile stand at the beginning; once a page shows none, the walk is done. */
function lookAtHead(before: Place, page: PageFacts): Step {
  const fresh = freshRows(page);
  const tries = before.tries + 1;
  const isDone = fresh === 0 || !page.pagination.hasMore;
  const isRestless = !isJoined(before, page) || (!isDone && tries >= MOST_HEAD_PAGES);
  const place = withAnomalies(
    {
      ...before,
      offset: page.offset + advanceOf(page),
      anchor: anchorOf(page),
      rows: before.rows + fresh,
      tries,
    },
    isRestless && 'restless-head',
  );
  return isDone || isRestless ? finish(place) : goOn(place, page);
}

/**
 * Rows may come and go during a walk; yet where fewer came than there were at its beginning and than there are at
 * its end, some were missed.
 */
function finish(place: Place): Step {
  const { rows, unkeyed, totalFirst, total } = place;
  const lacks = rows + unkeyed < Math.min(totalFirst ?? 0, total ?? 0);
  return { place: withAnomalies(place, lacks && 'total'), next: 'end', met: 'add' };
}
