/** What a walk may make of the one before it. */

import type { Before, Ending, WalkSession } from '../store/index.ts';
import { PAGE_ROWS } from '../walk/bounds.ts';
import type { Place } from '../walk/checkpoint.ts';
import type { Previous } from '../walk/previous.ts';

/** A full walk runs once a day; a little less, so that a run that comes late still falls within it. */
const FULL_WALK_EVERY_MS = 23 * 3_600_000;

export function previousOf(before: Before | undefined): Previous | undefined {
  if (!before) return undefined;
  const { last, full, fullAgeMs, hasAbsences } = before;
  const { firstPage = null } = JSON.parse(full.memory) as Partial<Place>;
  const { ignoresSnapshot = false, replaced = false } = JSON.parse(last.memory) as Partial<Place>;
  const isProven = last.status === 'complete' && last.verdict === 'snapshot';
  const isRecent = fullAgeMs !== null && fullAgeMs < FULL_WALK_EVERY_MS;
  return {
    generatedAt: last.generatedAt,
    total: full.total,
    firstPage,
    // Rows that await their second proof of absence need a full walk; one of a single page costs no more.
    restless: ignoresSnapshot && replaced,
    renewable: isProven && isRecent && !hasAbsences && full.pages > 1,
  };
}

/** How a walk ends whose first page showed that what the one before proved still stands. */
export function renewalOf({ before, row }: Pick<WalkSession, 'before' | 'row'>): Ending {
  const callsSaved = Math.ceil((row.total ?? 0) / PAGE_ROWS) - 1;
  return { verdict: 'snapshot', ...(before && { probe: { of: before.full.id, callsSaved } }) };
}
