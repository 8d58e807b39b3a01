/** How one page is joined to those before it, by rows that both show. */

import { advanceOf } from './evidence.ts';
import type { Anchor, PageFacts, Place } from './place.ts';

/** Whether the page continues what was read: it shows the anchor, or begins with a row read before. */
export function isJoined({ phase, anchor }: Place, { offset, keys, seen }: PageFacts): boolean {
  if (offset === 0 || (anchor === null && phase !== 'back')) return true;
  const firstKeyed = keys.findIndex((key) => key !== null);
  return seen[firstKeyed] === true || (anchor !== null && keys.includes(anchor.key));
}

/** How many rows at the beginning of the page were read before; everything behind them must be new. */
export function knownRows({ anchor, lostAt }: Place, { keys, seen }: PageFacts): number {
  const anchorAt = anchor && lostAt === null ? keys.indexOf(anchor.key) : -1;
  if (anchor && anchorAt >= 0) return anchorAt + anchor.back;
  const firstNew = keys.findIndex((key, at) => key !== null && !seen[at]);
  return firstNew < 0 ? keys.length : firstNew;
}

/** The last row of the page that shows a key. The first one would leave the next page no room for new rows. */
export function anchorOf(page: PageFacts): Anchor | null {
  const rows = advanceOf(page);
  const at = page.keys.slice(0, rows).findLastIndex((key) => key !== null);
  const key = page.keys[at] ?? null;
  return at > 0 && key !== null ? { key, back: rows - at } : null;
}
