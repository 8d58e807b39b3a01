/** A value that many components read, and that tells them when it changes. */

import { useEffect, useState } from 'preact/hooks';

export type Store<T> = {
  get(): T;
  set(value: T): void;
  /**
   * @param seen what was shown last: where it has changed since, the listener is called at once.
   * @returns what ends it.
   */
  subscribe(seen: T, listener: () => void): () => void;
};

export function store<T>(initial: T): Store<T> {
  const listeners = new Set<() => void>();
  let value = initial;
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener();
    },
    subscribe(seen, listener) {
      listeners.add(listener);
      if (!Object.is(seen, value)) listener();
      return () => listeners.delete(listener);
    },
  };
}

export function useStore<T>(from: Store<T>): T {
  const [, render] = useState({});
  const drawn = from.get();
  useEffect(() => from.subscribe(drawn, () => render({})), [from]);
  return drawn;
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
