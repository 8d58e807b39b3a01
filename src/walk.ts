/** Reading a dataset page by page to its end, and saying what the pages prove of it. */

import { advanceAnchored } from './walk/anchored.ts';
import { isOverBound, MOST_RESTARTS, PAGE_ROWS } from './walk/bounds.ts';
import { describeAnomalies, type Verdict, verdictOf, withAnomalies } from './walk/evidence.ts';
import { beginning, type PageFacts, type Place, type Step } from './walk/place.ts';
import { advanceSnapshot } from './walk/snapshot.ts';

export type WalkedPage<Page> = {
  page: Page;
  /** Where the walk stands behind this page: to be saved with it. */
  place: Place;
  /** True where the walk begins anew behind this page: which rows it has met no longer counts. */
  anew: boolean;
  /** Set on the last page. */
  end: WalkEnd | undefined;
};

export type WalkEnd = {
  verdict: Verdict;
  /** What kept a union from being a proof, for people; undefined where nothing went wrong. */
  unproven: string | undefined;
  /** Set where no answer of the API ended the walk: its place is worth nothing. */
  stuck: 'stuck' | 'bound' | undefined;
};

/**
 * Yields each page with the walk's place behind it, from `place` to the end of the dataset. The next page is
 * asked for only when the consumer, who has saved the last one, comes back: `seen` then knows its rows.
 * Bounded in calls (see `bounds.ts`), whatever the API answers.
 * @param read asks the API for rows from an offset; its errors pass through.
 */
export async function* walk<Page extends PageFacts>(
  read: (offset: number, limit: number) => Promise<Page>,
  place: Place,
): AsyncGenerator<WalkedPage<Page>, void> {
  for (let at = place; ; ) {
    const page = await read(requestOffset(at), PAGE_ROWS);
    const step = advance(at, page);
    const end = endOf(step);
    yield { page, place: step.place, anew: step.next === 'anew', end };
    if (end) return;
    at = step.place;
  }
}

function endOf({ place, next }: Step): WalkEnd | undefined {
  const stuck = next === 'stuck' ? 'stuck' : next !== 'end' && isOverBound(place) ? 'bound' : undefined;
  if (next !== 'end' && !stuck) return undefined;
  return { verdict: stuck ? 'union' : verdictOf(place), unproven: describeAnomalies(place), stuck };
}

/** Where there is an anchor, the page is asked for from one row earlier, to see that row again. */
function requestOffset({ offset, anchor }: Place): number {
  return anchor === null ? offset : offset - 1;
}

function advance(before: Place, page: PageFacts): Step {
  const replaced = before.pagesOfPass > 0 && page.generatedAt !== before.generatedAt;
  if (replaced && before.restarts < MOST_RESTARTS) return beginAnew(before);
  const { total = before.total } = page.pagination;
  const place = withAnomalies(
    {
      ...before,
      pages: before.pages + 1,
      pagesOfPass: before.pagesOfPass + 1,
      generatedAt: page.generatedAt,
      total,
      totalFirst: before.totalFirst ?? total,
    },
    replaced && 'torn',
  );
  return typeof page.generatedAt === 'string' ? advanceSnapshot(place, page) : advanceAnchored(place, page);
}

function beginAnew({ pages, restarts, stepsBack, totalFirst }: Place): Step {
  return {
    place: { ...beginning, pages: pages + 1, restarts: restarts + 1, stepsBack, totalFirst },
    next: 'anew',
  };
}
