/**
 * Which pages a walk will most likely ask for next, and whether one that was asked for ahead of its turn may be taken. Calls
 * side by side are answered in any order; docs/reliability.md tells what that means for the proof.
 */

import type { Checkpoint, PageFacts } from './checkpoint.ts';

/** The pages behind the next one: how many, and where the first of them begin. */
export type Foreseen = { calls: number; offsets: readonly number[] };

const nothing: Foreseen = { calls: 0, offsets: [] };

/** Where there is an anchor, the page is asked for from that row on, to see it again. */
export function requestOffset(at: Checkpoint): number {
  const anchor = at.mode === 'anchored' ? at.anchor : null;
  return at.offset - (anchor?.back ?? 0);
}

/**
 * The pages behind the next one where each has `pageRows` rows, as far as `total` goes.
 * @param most so many offsets.
 */
export function foresee(at: Checkpoint, pageRows: number, most: number): Foreseen {
  if (!isSteady(at) || at.total === null || pageRows === 0) return nothing;
  const offsets: number[] = [];
  let end = requestOffset(at) + pageRows;
  const calls = Math.max(0, Math.ceil((at.total - end) / pageRows));
  for (let overlap = overlapOf(at); end < at.total && offsets.length < most; end += pageRows - overlap) {
    overlap = Math.min(overlap, Math.max(1, overlap - 1));
    // A page so short would lead nowhere.
    if (overlap >= pageRows) return nothing;
    offsets.push(end - overlap);
  }
  return { calls, offsets };
}

/** Whether one page follows the other: not before the first, nor where a snapshot was replaced, nor in search of a row. */
function isSteady(at: Checkpoint): boolean {
  if (at.pagesOfPass === 0) return false;
  if (at.mode === 'snapshot') return at.restarts === 0;
  return at.phase === 'rows' && at.anchor !== null && at.rereadUntil === null;
}

function overlapOf(at: Checkpoint): number {
  return at.mode === 'anchored' ? at.overlap : 0;
}

/**
 * Whether a page asked for ahead of its turn proves as much as one asked for now. A snapshot says itself what it is a page of.
 * Elsewhere nothing may have come, gone or moved above it: the anchor stands where it was left, and there are as many rows.
 */
export function isAsIfAskedNow(
  at: Checkpoint,
  { keys, pagination }: Pick<PageFacts, 'keys' | 'pagination'>,
): boolean {
  if (at.mode === 'snapshot') return true;
  return at.anchor !== null && keys[0] === at.anchor.key && pagination.total === at.total;
}
