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

export const preferences = store<Preferences>({ theme: 'system', zone: 'utc', ...kept() });

export const usePreferences = (): Preferences => useStore(preferences);

/** Storage may be switched off, or full: then it is done without. */
function kept(): Partial<Preferences> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Preferences>;
  } catch {
    return {};
  }
}

export function prefer(changes: Partial<Preferences>): void {
  const next = { ...preferences.get(), ...changes };
  try {
    localStorage.setItem(KEY, JSON.stringify(next));
  } catch {}
  document.documentElement.style.colorScheme = next.theme === 'system' ? '' : next.theme;
  preferences.set(next);
}
