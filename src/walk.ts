/** Reading a dataset page by page to its end, and saying what the pages prove of it. */

import { advanceAnchored } from './walk/anchored.ts';
import { isEndless, MOST_RESTARTS, PAGE_ROWS } from './walk/bounds.ts';
import {
  beginAnew,
  isOfSnapshot,
  isReplaced,
  type Met,
  type PageFacts,
  type Place,
  type Step,
  turnPage,
} from './walk/checkpoint.ts';
import { describeAnomalies, pageAnomalies, type Verdict, verdictOf, withAnomalies } from './walk/evidence.ts';
import { isOlder, isUnchanged, type Previous } from './walk/previous.ts';
import { advanceSnapshot } from './walk/snapshot.ts';

export type WalkedPage<Page> = {
  page: Page;
  /** Where the walk stands behind this page, and what the page does to the rows met: to be saved with it. */
  place: Place;
  met: Met;
  /** Set on the last page. */
  end: WalkEnd | undefined;
};

export type WalkEnd = {
  verdict: Verdict;
  /** What kept a union from being a proof, for people; undefined where nothing went wrong. */
  unproven: string | undefined;
  /** Set where no answer of the API ended the walk: its place is worth nothing. */
  stuck: 'stuck' | 'bound' | undefined;
  /** True where one call showed that what the previous walk proved still stands. */
  renewed: boolean;
};

/**
 * Yields each page with the walk's place behind it, from `place` to the end of the dataset. The next page is
 * asked for only when the consumer, who has saved the last one, comes back: `seen` then knows its rows.
 * Bounded in calls (see `bounds.ts`), whatever the API answers.
 * @param read asks the API for rows from an offset; its errors pass through.
 * @param previous the walk before this one, whose proof the first page may renew.
 */
export async function* walk<Page extends PageFacts>(
  read: (offset: number, limit: number) => Promise<Page>,
  place: Place,
  previous?: Previous,
): AsyncGenerator<WalkedPage<Page>, void> {
  for (let at = beginWith(place, previous); ; ) {
    const page = await read(requestOffset(at), PAGE_ROWS);
    const step = advance(at, page, previous);
    const end = at.pages === 0 && isUnchanged(previous, page) ? renewal : endOf(step);
    yield { page, place: step.place, met: step.met, end };
    if (end) return;
    at = step.place;
  }
}

/** Where there is an anchor, the page is asked for from its place, to see that row again. */
function requestOffset({ offset, anchor }: Place): number {
  return offset - (anchor?.back ?? 0);
}

const renewal: WalkEnd = { verdict: 'snapshot', unproven: undefined, stuck: undefined, renewed: true };

function beginWith(place: Place, previous: Previous | undefined): Place {
  return place.pages === 0 && previous?.restless ? { ...place, ignoresSnapshot: true } : place;
}

function advance(before: Place, page: PageFacts, previous: Previous | undefined): Step {
  const turned = turnPage(before, page);
  if (isReplaced(before, page) && !before.ignoresSnapshot)
    return beginAnew(before.restarts < MOST_RESTARTS ? turned : withoutSnapshot(turned));
  const place = withAnomalies(
    turned,
    before.pagesOfPass === 0 && isOlder(previous, page) && 'backwards',
    ...pageAnomalies(page),
  );
  return isOfSnapshot(place) ? advanceSnapshot(place, page) : advanceAnchored(place, page);
}

/** Some publish anew for every answer, and some while we read: such a list is read like one without `generatedAt`. */
function withoutSnapshot(place: Place): Place {
  return { ...place, ignoresSnapshot: true, pagesOfSnapshots: place.pages };
}

function endOf({ place, next }: Step): WalkEnd | undefined {
  const stuck = next === 'stuck' ? 'stuck' : next === 'go on' && isEndless(place) ? 'bound' : undefined;
  if (next === 'go on' && !stuck) return undefined;
  return {
    verdict: stuck ? 'union' : verdictOf(place),
    unproven: describeAnomalies(place),
    stuck,
    renewed: false,
  };
}
