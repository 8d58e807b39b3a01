/**
 * What a walk does where a page does not come. A page that is too heavy is asked for in halves; what does not come even so is passed
 * over; an offset that the API refuses ends the walk. Nothing stops a dataset for ever. What is down, is waited for.
 */

import { BAD_BODY, type Call, speaksOfLimit, TOO_LARGE } from '../api/response.ts';
import { type Anchor, type Checkpoint, PAGE_ROWS, requestOf, withAnomalies } from './checkpoint.ts';

/**
 * Why a page did not come. `large`: it is larger than any page may be. `slow`: it takes the API too long. `unreadable`: no JSON or no
 * UTF-8. `refused`: the API does not give this offset. `failing`: it fails there, or answers something else. `silent`: no response. `other`: nothing
 * is known of the page.
 */
export type Obstacle = 'large' | 'slow' | 'unreadable' | 'refused' | 'failing' | 'silent' | 'other';

const REFUSALS = [400, 404, 413, 414, 416, 422];
/** These say nothing of the page: it is waited for. */
const NOT_OF_THE_PAGE = [401, 403, 408, 425, 429, 503];

/** What the response to a request for a page says of that page. */
export function obstacleOf({ status, errorCode }: Pick<Call, 'status' | 'errorCode'>): Obstacle {
  if (errorCode === TOO_LARGE) return 'large';
  if (errorCode === BAD_BODY) return 'unreadable';
  if (status === null) return 'silent';
  if (status === 502 || status === 504) return 'slow';
  if (REFUSALS.includes(status)) return 'refused';
  const hasCome = status === 200 && errorCode === null;
  const isOfLimit = errorCode !== null && speaksOfLimit(errorCode);
  return hasCome || isOfLimit || NOT_OF_THE_PAGE.includes(status) ? 'other' : 'failing';
}

/** What stands in the way of the next page, in this walk. */
export type Trouble = {
  obstacle: Obstacle;
  /** How often the API has taken too long for this page. */
  timesSlow: number;
  /** Whether the first page of the list has come since this walk was at work before. */
  answersHead: boolean;
};

/**
 * `ask`: the next request. `end`: the walk ends without a proof. `wait`: the run ends with its error, and the next one resumes at the
 * checkpoint.
 */
export type Detour = { checkpoint: Checkpoint; next: 'ask' | 'end' | 'wait' };

/** Fewer rows could not be joined to the next page. */
const LEAST_PAGE_ROWS = 3;
/** So many pages that came are followed by one twice as long. */
const LIGHT_PAGES = 4;
/** An offset at which the API failed in so many runs is given up, if the first page comes. */
const RUNS_TO_GIVE_UP = 3;
/** Where the page behind did not come either, it is asked for again after so many runs: that takes calls. */
const RUNS_BETWEEN_GAPS = 4;
/** A full page that the API gives up on so often is too heavy for it; of a shorter one it is known. */
const TIMES_SLOW = 2;

export function findDetour(at: Checkpoint, { obstacle, timesSlow, answersHead }: Trouble): Detour {
  const wait = (checkpoint: Checkpoint): Detour => ({ checkpoint, next: 'wait' });
  if (obstacle === 'other') return wait(at);
  if (obstacle === 'refused')
    return requestOf(at).offset > 0 ? { checkpoint: withAnomalies(at, 'refused'), next: 'end' } : wait(at);
  // Where the first page comes, it is this one that no response comes for; else the API is down, for however many runs.
  if (obstacle === 'silent')
    return at.failedRuns === 0 || answersHead
      ? waitForRuns(withoutSkip(at), answersHead)
      : wait(withoutSkip(at));
  // The page behind the gap does not come either: then it is no gap.
  if (at.skipping) return waitForRuns(withoutSkip(at), answersHead);
  const wasNoGap = obstacle === 'unreadable' && at.failedRuns % RUNS_BETWEEN_GAPS !== 0;
  if (obstacle === 'failing' || wasNoGap) return waitForRuns(at, answersHead);
  if (obstacle === 'slow' && timesSlow < TIMES_SLOW && at.pageRows === PAGE_ROWS) return wait(at);
  return { checkpoint: passOver(at, obstacle), next: 'ask' };
}

/** A page too heavy is asked for in halves; one that cannot be read is so only where the page behind it comes. */
function passOver(at: Checkpoint, obstacle: Obstacle): Checkpoint {
  const isGap = at.gapUntil !== null;
  if (obstacle === 'unreadable' && !isGap) return skipped(at);
  if (at.pageRows > LEAST_PAGE_ROWS) return halved(at);
  return isGap ? confirmed(skipped(at)) : skipped(at);
}

/** Where the first page comes meanwhile, it is not the API as a whole that is down. */
function waitForRuns(at: Checkpoint, answersHead: boolean): Detour {
  const checkpoint = { ...at, failedRuns: at.failedRuns + 1 };
  return checkpoint.failedRuns >= RUNS_TO_GIVE_UP && answersHead && requestOf(at).offset > 0
    ? { checkpoint: withAnomalies(checkpoint, 'refused'), next: 'end' }
    : { checkpoint, next: 'wait' };
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
  const anchor = at.mode === 'anchored' ? at.anchor : null;
  const skipping = { offset, rows: limit, at: at.offset, anchor };
  return { ...withAnchor(at, null), offset: offset + limit, skipping };
}

const withAnchor = (at: Checkpoint, anchor: Anchor | null): Checkpoint =>
  at.mode === 'anchored' ? { ...at, anchor } : at;

/** Back to where it began to skip: nothing was wrong with that page. */
function withoutSkip(at: Checkpoint): Checkpoint {
  const { skipping } = at;
  if (!skipping) return at;
  const back = { ...at, offset: skipping.at, skipping: null, pageRows: PAGE_ROWS, lightPages: 0 };
  return withAnchor(back, skipping.anchor);
}

const confirmed = (at: Checkpoint): Checkpoint =>
  at.skipping
    ? withAnomalies({ ...at, skipping: null, skipped: [...at.skipped, at.skipping.offset] }, 'skipped')
    : at;

/** Goes back to a page that cannot be read, for the rows of it that can; undefined where the walk need not. Call it where a page has come. */
export function narrowGap(at: Checkpoint): Checkpoint | undefined {
  const { skipping } = at;
  if (!skipping || skipping.rows <= LEAST_PAGE_ROWS) return undefined;
  const gapUntil = skipping.offset + skipping.rows;
  return { ...halved(withoutSkip(at)), gapUntil, pages: at.pages + 1 };
}

/** The checkpoint once its page has come: what was passed over is a gap, and lighter pages grow again. */
export function confirmPage(at: Checkpoint): Checkpoint {
  const { pageRows, lightPages, gapUntil } = at;
  const isBehindGap = gapUntil !== null && requestOf(at).offset >= gapUntil;
  const turned = { ...confirmed(at), gapUntil: isBehindGap ? null : gapUntil };
  if (pageRows >= PAGE_ROWS) return turned;
  const mayGrow = lightPages + 1 >= LIGHT_PAGES;
  return {
    ...turned,
    pageRows: mayGrow ? Math.min(PAGE_ROWS, pageRows * 2) : pageRows,
    lightPages: mayGrow ? 0 : lightPages + 1,
  };
}
