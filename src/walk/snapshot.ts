/**
 * One published snapshot, by the specification's rule to the letter: go on while `hasMore`, and add `returned` to
 * the offset. Its rows are all there when every key came once and they are as many as `total`.
 */

import type { PageFacts, Place, Step } from './checkpoint.ts';
import { advanceOf, freshRows, unkeyedRows, withAnomalies } from './evidence.ts';
import { endsTooEarly, goOn, lookBeyond } from './go-on.ts';

export function advanceSnapshot(before: Place, page: PageFacts): Step {
  const place = withAnomalies(
    {
      ...before,
      offset: page.offset + advanceOf(page),
      anchor: null,
      rows: before.rows + freshRows(page),
      unkeyed: before.unkeyed + unkeyedRows(page),
    },
    page.seen.includes(true) && 'repeat',
  );
  if (page.pagination.hasMore) return goOn(place, page);
  if (endsTooEarly(place) && !place.lookedBeyond) return lookBeyond(place);
  return { place: withAnomalies(place, !addsUp(place) && 'total'), next: 'end', met: 'add' };
}

/** As many rows as the snapshot says it has, and it said the same throughout. */
function addsUp({ rows, unkeyed, total, totalFirst }: Place): boolean {
  return rows + unkeyed === total && total === totalFirst;
}
