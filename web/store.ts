/** A value that is looked at from many places, and tells them when it is another. */

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
