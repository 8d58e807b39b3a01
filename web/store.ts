/** A value that many components read, and that tells them when it changes. */

import { useEffect, useState } from 'preact/hooks';

export type Store<T> = {
  get(): T;
  set(value: T): void;
  /** @returns what ends it. */
  subscribe(listener: () => void): () => void;
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
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useStore<T>(from: Store<T>): T {
  const [, render] = useState({});
  const drawn = from.get();
  useEffect(() => {
    const end = from.subscribe(() => render({}));
    // It may have changed between drawing and now.
    if (!Object.is(drawn, from.get())) render({});
    return end;
  }, [from]);
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
