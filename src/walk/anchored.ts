/**
 * A dataset that may change between two pages. Each page is asked for from one row earlier: where that row, the
 * anchor, is still the first one, as many rows precede it as before, so nothing slipped past the boundary. Where
 * it is not, the walk steps back until it meets a row it knows. At the end the beginning is read again.
 */

import { FIRST_STEP_BACK, MOST_HEAD_PAGES, MOST_STEPS_BACK } from './bounds.ts';
import { advanceOf, freshRows, pageAnomalies, withAnomalies } from './evidence.ts';
import { goOn } from './go-on.ts';
import type { PageFacts, Place, Step } from './place.ts';

export function advanceAnchored(before: Place, page: PageFacts): Step {
  const place = withAnomalies({ ...before, rows: before.rows + freshRows(page) }, ...pageAnomalies(page));
  if (place.phase === 'head') return lookAtHead(place, page);
  return isJoined(place, page) ? readOn(place, page) : stepBack(place, page);
}

/** Whether the page continues what was read: it begins with the anchor, before it, or with another known row. */
function isJoined(place: Place, { keys, seen, received, pagination }: PageFacts): boolean {
  if (place.offset === 0) return true;
  if (received === 0) return pagination.hasMore === true;
  if (place.phase === 'back') return seen[0] === true;
  return place.anchor === null || keys.includes(place.anchor) || seen[0] === true;
}

function readOn(before: Place, page: PageFacts): Step {
  const { keys, seen, pagination } = page;
  const advance = advanceOf(page);
  const fresh = freshRows(page);
  const known = knownRows(before, page);
  const alone = before.anchor !== null && advance === 1 && pagination.hasMore === true;
  const place = withAnomalies(
    {
      ...before,
      phase: before.phase === 'tail' ? 'tail' : 'rows',
      tries: 0,
      offset: page.offset + advance,
      anchor: advance === 0 ? before.anchor : alone ? null : (keys[advance - 1] ?? null),
      catchingUp: (before.catchingUp || before.phase === 'back') && fresh === 0,
    },
    seen.slice(known).includes(true) && 'repeat',
    seen.slice(0, known).includes(false) && 'disorder',
    alone && 'lone-anchor',
  );
  const last = pagination.hasMore === undefined ? fresh === 0 : !pagination.hasMore;
  return last ? end(place, page) : goOn(place, fresh, advance);
}

/** How many rows at the beginning of the page were read before; everything behind them must be new. */
function knownRows({ anchor, phase, catchingUp }: Place, { keys, seen }: PageFacts): number {
  const anchorAt = anchor === null || phase === 'back' || catchingUp ? -1 : keys.indexOf(anchor);
  if (anchorAt >= 0) return anchorAt + 1;
  const firstNew = seen.indexOf(false);
  return firstNew < 0 ? seen.length : firstNew;
}

/** Further up, until a row is met that was read before; from the very beginning every row counts as joined. */
function stepBack(before: Place, page: PageFacts): Step {
  if (before.tries >= MOST_STEPS_BACK) return readOn(withAnomalies(before, 'lost'), page);
  const offset = Math.max(0, page.offset - FIRST_STEP_BACK * 2 ** before.tries);
  const { tries, stepsBack } = before;
  return {
    place: { ...before, phase: 'back', offset, anchor: null, tries: tries + 1, stepsBack: stepsBack + 1 },
    next: 'go on',
  };
}

function end(place: Place, { pagination }: PageFacts): Step {
  if (pagination.hasMore === undefined) return { place: withAnomalies(place, 'inferred-end'), next: 'end' };
  const missing = place.offset < (place.total ?? 0);
  if (missing && place.phase !== 'tail') return { place: { ...place, phase: 'tail' }, next: 'go on' };
  const ended = withAnomalies(place, missing && 'total');
  if (ended.pagesOfPass === 1) return { place: ended, next: 'end' };
  return { place: { ...ended, phase: 'head', offset: 0, anchor: null, tries: 0 }, next: 'go on' };
}

/** Rows that came in or moved up meanwhile stand at the beginning; once a page shows none, the walk is done. */
function lookAtHead(before: Place, page: PageFacts): Step {
  const place = { ...before, tries: before.tries + 1, offset: page.offset + advanceOf(page) };
  if (freshRows(page) === 0 || !page.pagination.hasMore) return { place, next: 'end' };
  if (place.tries < MOST_HEAD_PAGES) return { place, next: 'go on' };
  return { place: withAnomalies(place, 'restless-head'), next: 'end' };
}
