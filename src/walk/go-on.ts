/** The ways from one page to the next that all walks share. */

import { MOST_FRUITLESS } from './bounds.ts';
import type { PageFacts, Place, Step } from './checkpoint.ts';
import { advanceOf, freshRows, withAnomalies } from './evidence.ts';

/** The next page, unless too many in a row have brought nothing new. */
export function goOn(place: Place, page: PageFacts): Step {
  const advance = advanceOf(page);
  // Rows that are read again are not new, nor do they go on for ever.
  if (freshRows(page) > 0 || (place.knownUntil !== null && advance > 0))
    return { place: { ...place, fruitless: 0 }, next: 'go on', met: 'add' };
  const fruitless = place.fruitless + 1;
  // An empty page that promises more is asked for once again, in case it was a passing fault.
  const most = advance === 0 ? 2 : MOST_FRUITLESS;
  if (fruitless >= most) return { place: withAnomalies(place, 'stuck'), next: 'stuck', met: 'add' };
  return { place: { ...place, fruitless }, next: 'go on', met: 'add' };
}

/** Whether the API calls this the end although its `total` says that more follows. */
export function endsTooEarly({ offset, total }: Place): boolean {
  return offset < (total ?? 0);
}

/** Asks once for rows behind what the API called the end. */
export function lookBeyond(place: Place): Step {
  return { place: { ...place, lookedBeyond: true }, next: 'go on', met: 'add' };
}
