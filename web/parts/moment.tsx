/** The moment that every view shows: now, or a time of the past. */

import { linkHere, usePlace } from '../router.ts';
import { Time } from './time.tsx';

export function Moment() {
  const { at } = usePlace();
  if (at === null) return <p class="moment">Now</p>;
  return (
    <p class="moment">
      As of <Time at={at} /> <a href={linkHere({ at: null })}>Back to now</a>
    </p>
  );
}
