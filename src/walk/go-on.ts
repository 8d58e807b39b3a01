import { MOST_FRUITLESS } from './bounds.ts';
import { withAnomalies } from './evidence.ts';
import type { Place, Step } from './place.ts';

/** The next page, unless too many in a row have brought nothing new. */
export function goOn(place: Place, fresh: number, advance: number): Step {
  if (fresh > 0) return { place: { ...place, fruitless: 0 }, next: 'go on' };
  const fruitless = place.fruitless + 1;
  // An empty page that promises more is asked for once again, in case it was a passing fault.
  const most = advance === 0 ? 2 : MOST_FRUITLESS;
  if (fruitless >= most) return { place: withAnomalies(place, 'stuck'), next: 'stuck' };
  return { place: { ...place, fruitless }, next: 'go on' };
}
