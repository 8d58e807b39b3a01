/**
 * What a walk does where a page does not come. A page that is too heavy is asked for in halves; what does not come even so is passed
 * over; an offset that the API refuses ends the walk. Nothing stops a dataset for ever. What is down, is waited for.
 */

import { type Anchor, type Checkpoint, PAGE_ROWS, requestOf, withAnomalies } from './checkpoint.ts';

/** Why a page did not come. `heavy`: it is too large, or takes the API too long. `unreadable`: no JSON or no UTF-8. */
export type Obstacle = 'heavy' | 'unreadable' | 'refused' | 'failing' | 'other';

/**
 * `ask`: the next request. `check head`: whether the first page comes; if it does, the walk ends, else it waits. `end`: the walk ends
 * without a proof. `wait`: the run ends with its error, and the next one resumes here.
 */
export type Detour = { checkpoint: Checkpoint; next: 'ask' | 'check head' | 'end' | 'wait' };

/** Fewer rows could not be joined to the next page. */
const LEAST_PAGE_ROWS = 3;
/** So many pages that came are followed by one twice as long. */
const LIGHT_PAGES = 4;
/** An offset at which the API failed in so many runs is given up, if the first page comes. */
const RUNS_TO_GIVE_UP = 3;

export function findDetour(at: Checkpoint, obstacle: Obstacle): Detour {
  const wait = (checkpoint: Checkpoint): Detour => ({ checkpoint, next: 'wait' });
  const isBehindHead = requestOf(at).offset > 0;
  switch (obstacle) {
    case 'heavy':
    case 'unreadable':
      // The page behind the gap does not come either: then it is no gap, but an outage.
      if (at.skipping) return wait(withoutSkip(at));
      return { checkpoint: at.pageRows > LEAST_PAGE_ROWS ? halved(at) : skipped(at), next: 'ask' };
    case 'refused':
      return isBehindHead ? { checkpoint: withAnomalies(at, 'refused'), next: 'end' } : wait(at);
    case 'failing': {
      if (!isBehindHead) return wait(at);
      const checkpoint = { ...at, failedRuns: at.failedRuns + 1 };
      return { checkpoint, next: checkpoint.failedRuns < RUNS_TO_GIVE_UP ? 'wait' : 'check head' };
    }
    case 'other':
      return wait(at.skipping ? withoutSkip(at) : at);
  }
}

function halved(at: Checkpoint): Checkpoint {
  const pageRows = Math.max(LEAST_PAGE_ROWS, Math.floor(at.pageRows / 2));
  const lighter = { ...at, pageRows, lightPages: 0 };
  // An anchor further back would leave no room for new rows.
  const hasRoom = at.mode !== 'anchored' || !at.anchor || at.anchor.back < pageRows;
  return hasRoom ? lighter : withAnomalies(withAnchor(lighter, null), 'unanchored');
}

function skipped(at: Checkpoint): Checkpoint {
  const { offset, limit } = requestOf(at);
  return { ...withAnchor(at, null), offset: offset + limit, skipping: { offset, rows: limit } };
}

function withoutSkip(at: Checkpoint): Checkpoint {
  return { ...at, offset: at.skipping?.offset ?? at.offset, skipping: null };
}

const withAnchor = (at: Checkpoint, anchor: Anchor | null): Checkpoint =>
  at.mode === 'anchored' ? { ...at, anchor } : at;

/** The checkpoint once its page has come: what was passed over is a gap, and lighter pages grow again. */
export function confirmPage(at: Checkpoint): Checkpoint {
  const { skipping, skipped: gaps, pageRows, lightPages } = at;
  const confirmed: Checkpoint = skipping
    ? withAnomalies({ ...at, skipping: null, skipped: [...gaps, skipping.offset] }, 'skipped')
    : at;
  if (pageRows >= PAGE_ROWS) return confirmed;
  const mayGrow = lightPages + 1 >= LIGHT_PAGES;
  return {
    ...confirmed,
    pageRows: mayGrow ? Math.min(PAGE_ROWS, pageRows * 2) : pageRows,
    lightPages: mayGrow ? 0 : lightPages + 1,
  };
}
