/** Sets the colours before anything is drawn, so that a dark page never flashes. A classic script: it imports nothing. */

try {
  // The same key as in preferences.ts.
  const { theme } = JSON.parse(localStorage.getItem('market-mirror') ?? '{}');
  if (theme === 'light' || theme === 'dark') document.documentElement.style.colorScheme = theme;
} catch {}
