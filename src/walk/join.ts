/** How one page is joined to those before it, by rows that both show. */

import { FAR } from './bounds.ts';
import type { Anchor, AnchoredCheckpoint, PageFacts } from './checkpoint.ts';
import { advanceOf, freshRows } from './pages.ts';

/** Whether the page continues what was read: it shows the anchor, or begins with a row read before. */
export function isJoined({ phase, anchor }: AnchoredCheckpoint, { offset, keys, met }: PageFacts): boolean {
  if (offset === 0 || (anchor === null && phase !== 'back')) return true;
  const firstKeyed = keys.findIndex((key) => key !== null);
  return met[firstKeyed] === true || (anchor !== null && keys.includes(anchor.key));
}

/** How many rows at the beginning of the page were read before; everything behind them must be new. */
export function rereadRows({ anchor, rereadUntil }: AnchoredCheckpoint, { keys, met }: PageFacts): number {
  const anchorAt = anchor && rereadUntil === null ? keys.indexOf(anchor.key) : -1;
  if (anchor && anchorAt >= 0) return anchorAt + anchor.back;
  const firstNew = keys.findIndex((key, at) => key !== null && !met[at]);
  return firstNew < 0 ? keys.length : firstNew;
}

/**
 * The offset before which the next page, too, may show nothing but known rows: after steps back, where so much came
 * in above that the anchor moved off the page, or where the page is too short to show more than the overlap.
 */
export function rereadUntil(before: AnchoredCheckpoint, page: PageFacts): number | null {
  const offset = page.offset + advanceOf(page);
  const hasMovedOff = before.anchor !== null && !page.keys.includes(before.anchor.key);
  const until = before.rereadUntil ?? (hasMovedOff ? (before.total ?? offset + FAR) : before.offset);
  return offset < until && freshRows(page) === 0 ? until : null;
}

/**
 * Where rows keep going above what was read, looking for the anchor a little further up is cheaper than stepping
 * back: the overlap is doubled by each step back, and shrinks with each page that shows the anchor in its place.
 */
export function overlapOf({ overlap, anchor }: AnchoredCheckpoint, { keys }: PageFacts): number {
  return anchor && keys[0] === anchor.key ? Math.max(1, overlap - 1) : overlap;
}

/** How many rows came in above what was read, less those that went: by so much all that is unread moved down. */
export function shiftOf({ readTo }: AnchoredCheckpoint, { offset }: PageFacts, known: number): number {
  return Math.max(0, offset + known - readTo);
}

/**
 * The row at `overlap` from the end of the page, or the last one before it that shows a key. The first one would leave
 * the next page no room for new rows.
 */
export function anchorOf(page: PageFacts, overlap = 1): Anchor | null {
  const rows = advanceOf(page);
  const keys = page.keys.slice(0, rows);
  const last = keys.findLastIndex((key) => key !== null);
  const within = keys.slice(0, Math.max(2, rows - overlap + 1)).findLastIndex((key) => key !== null);
  const at = within > 0 ? within : last;
  const key = page.keys[at] ?? null;
  return at > 0 && key !== null ? { key, back: rows - at } : null;
}
