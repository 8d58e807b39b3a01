/**
 * One published snapshot, by the specification's rule to the letter: go on while `hasMore`, and add `returned` to
 * the offset. Its rows are all there when every key came once and they are as many as `total`.
 */

import { advanceOf, freshRows, pageAnomalies, withAnomalies } from './evidence.ts';
import { goOn } from './go-on.ts';
import type { PageFacts, Place, Step } from './place.ts';

export function advanceSnapshot(before: Place, page: PageFacts): Step {
  const fresh = freshRows(page);
  const place = withAnomalies(
    { ...before, offset: before.offset + advanceOf(page), rows: before.rows + fresh },
    page.seen.includes(true) && 'repeat',
    ...pageAnomalies(page),
  );
  if (page.pagination.hasMore) return goOn(place, fresh, advanceOf(page));
  const missing = place.offset < (place.total ?? 0);
  if (missing && place.phase === 'rows') return { place: { ...place, phase: 'tail' }, next: 'go on' };
  return { place: withAnomalies(place, place.rows !== place.total && 'total'), next: 'end' };
}
