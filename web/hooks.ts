/** What views are connected with: stores, and media queries. */

import { useEffect, useState } from 'preact/hooks';
import type { Store } from './store.ts';

export function useStore<T>(from: Store<T>): T {
  const [, render] = useState({});
  useEffect(() => {
    const seen = from.get();
    const end = from.subscribe(() => render({}));
    // It may have changed between drawing and now.
    if (!Object.is(seen, from.get())) render({});
    return end;
  }, [from]);
  return from.get();
}

/** Whether a media query holds, such as `(prefers-reduced-motion: reduce)`. */
export function useMedia(query: string): boolean {
  const [holds, setHolds] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const look = () => setHolds(list.matches);
    look();
    list.addEventListener('change', look);
    return () => list.removeEventListener('change', look);
  }, [query]);
  return holds;
}
