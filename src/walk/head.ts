/**
 * The beginning once more, at the end of an anchored walk. Rows that came in or moved up meanwhile moved all others
 * down, which the anchors have counted; here they must be found.
 */

import { MOST_HEAD_PAGES } from './bounds.ts';
import type { PageFacts, Place, Step } from './checkpoint.ts';
import { advanceOf, freshRows, withAnomalies } from './evidence.ts';
import { anchorOf, isJoined } from './join.ts';

export function turnToHead(place: Place): Step {
  if (place.pagesOfPass === 1) return finish(place);
  return { place: { ...place, phase: 'head', offset: 0, anchor: null, tries: 0 }, next: 'go on', met: 'add' };
}

/** Looks until a page ends in rows that are known, and no row is known to be lacking. */
export function lookAtHead(before: Place, page: PageFacts): Step {
  const fresh = freshRows(page);
  const place: Place = {
    ...before,
    offset: page.offset + advanceOf(page),
    anchor: anchorOf(page),
    rows: before.rows + fresh,
    found: before.found + fresh,
    tries: before.tries + 1,
  };
  if (!isJoined(before, page)) return finish(withAnomalies(place, 'restless-head'));
  if (!page.pagination.hasMore) return finish(place);
  const isCalm = endsInKnownRows(page);
  if (isCalm && lackingRows(place) <= 0) return finish(place);
  if (place.tries < MOST_HEAD_PAGES) return { place, next: 'go on', met: 'add' };
  return finish(withAnomalies(place, !isCalm && 'restless-head'));
}

/** Whether the second half of the page shows nothing new. */
function endsInKnownRows({ keys, seen }: PageFacts): boolean {
  const half = Math.floor(keys.length / 2);
  return keys.every((key, at) => at < half || key === null || seen[at]);
}

/**
 * How many rows must be there that no page has shown. Rows come and go during a walk; yet where fewer came than
 * there were at its beginning and than there are at its end, some were missed. Without a total, more rows came in
 * above than were found there.
 */
function lackingRows({ rows, unkeyed, totalFirst, total, shifted, found }: Place): number {
  if (totalFirst === null || total === null) return shifted - found;
  return Math.min(totalFirst, total) - rows - unkeyed;
}

function finish(place: Place): Step {
  const lacking = place.total === null ? 'unfound' : 'total';
  return { place: withAnomalies(place, lackingRows(place) > 0 && lacking), next: 'end', met: 'add' };
}
