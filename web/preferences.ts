/** What this browser remembers: colours, time zone, facets. */

import { store, useStore } from './store.ts';

type Preferences = {
  theme: 'system' | 'light' | 'dark';
  zone: 'utc' | 'local';
  /** Whether values to filter by stand beside rows. */
  facets?: boolean;
};

/** The same key as in theme.ts. */
const KEY = 'market-mirror';
const initial: Preferences = { theme: 'system', zone: 'utc' };

export const preferences = store<Preferences>({ ...initial, ...remembered(KEY, {}) });

export const usePreferences = (): Preferences => useStore(preferences);

export function prefer(changes: Partial<Preferences>): void {
  const next = { ...preferences.get(), ...changes };
  remember(KEY, next);
  const { dataset } = document.documentElement;
  if (next.theme === 'system') delete dataset['theme'];
  else dataset['theme'] = next.theme;
  preferences.set(next);
}

/** What was kept under `key`; `otherwise` where there is nothing, or storage is switched off. */
export function remembered<T>(key: string, otherwise: T): T {
  try {
    return (JSON.parse(localStorage.getItem(key) ?? 'null') as T | null) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** Full or switched off, storage is done without. */
export function remember(key: string, value: unknown): void {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {}
}
