/**
 * Reads a dataset list page by list page, and says what the pages prove of it (`verdictOf`). A walk reads to the end. A glance
 * reads the head alone, until a page ends in rows that the mirror knew. A published snapshot is read here, any other list by
 * `walk/anchored.ts`; what to do where a page does not come, `walk/obstacles.ts` says.
 */

import { advanceAnchored, mostCalls } from './walk/anchored.ts';
import {
  type Anomaly,
  advanceOf,
  anchored,
  askPastEnd,
  beginning,
  type Checkpoint,
  doubledRows,
  endsIn,
  endsTooEarly,
  freshRows,
  goOn,
  isReplaced,
  ofRequests,
  PAGE_ROWS,
  type PageFacts,
  repeatsOthers,
  reset,
  type SnapshotCheckpoint,
  type Step,
  stepOf,
  turnPage,
  unkeyedRows,
  withAnomalies,
} from './walk/checkpoint.ts';
import { confirmPage, narrowGap } from './walk/obstacles.ts';

/**
 * `snapshot`: all pages came from one published snapshot, every key once, `total` rows.
 * `verified`: each page shares a row with the one before; no row that was there throughout was missed.
 * `union`: all that came is kept, nothing is proved.
 */
export type Verdict = 'snapshot' | 'verified' | 'union';

/** A glance reads three pages at most, and proves nothing unless these are all. */
export type WalkKind = 'walk' | 'glance';

export type WalkEnd = {
  /** Null where a glance ended at the end of the head. */
  verdict: Verdict | null;
  /** Why a union is no proof, by kind, for people; undefined where nothing went wrong. */
  doubts: string | undefined;
  /** What was not read, for people. */
  gaps: string | undefined;
  /** Set where the walk ended without the API's word: its checkpoint is worth nothing. */
  stuck: 'stuck' | 'bound' | undefined;
  /** True where one request showed that what the previous walk proved still stands: its order stays, this walk has none. */
  isRenewal: boolean;
};

/** What the walk before this one left behind. */
export type Previous = {
  /** Where it ended. */
  checkpoint: Checkpoint;
  /** Whether one request may renew its proof. */
  allowsRenewal: boolean;
  /** Whether it read the whole dataset: a row that the mirror does not know has come since. */
  isComplete: boolean;
};

/** Where a walk begins. Only anchors can prove anything of a list whose snapshot was replaced from one page to the next. */
export function beginWalk(previous: Previous | undefined): Checkpoint {
  const last = previous?.checkpoint;
  return last?.mode === 'anchored' && last.replaced ? anchored(beginning) : beginning;
}

/** What a page does to a walk: the checkpoint behind it, what becomes of the rows met, and the end on the last page. */
export type WalkStep = Omit<Step, 'next'> & { end: WalkEnd | undefined };

/**
 * Takes the page that was requested at a checkpoint (`requestOf`). The calls of a walk are bounded (`mostCalls`, `isEndless`).
 * @param previous the walk before this one, whose proof the first page may renew.
 */
export function takeStep(
  at: Checkpoint,
  page: PageFacts,
  previous: Previous | undefined,
  kind: WalkKind,
): WalkStep {
  const back = narrowGap(at);
  if (back) return { ...stepOf(back), metRows: 'skip', end: undefined };
  const { next, ...step } = advance(confirmPage(at), page, previous);
  const isRenewal = kind === 'walk' && at.pages === 0 && isUnchanged(previous, page);
  const end = isRenewal
    ? renewal
    : endOf(step, next, kind === 'glance' && isGlanced({ ...step, next }, page));
  return { ...step, end };
}

/** Ends a walk to which no page leads on, behind the last one that came. */
export const endWithGap = (at: Checkpoint, why: string): WalkEnd => ({
  verdict: 'union',
  doubts: describeAnomalies(at),
  gaps: [describeGaps(at), why].filter(Boolean).join('; '),
  stuck: undefined,
  isRenewal: false,
});

const renewal: WalkEnd = {
  verdict: 'snapshot',
  ...{ doubts: undefined, gaps: undefined, stuck: undefined },
  isRenewal: true,
};

function advance(before: Checkpoint, page: PageFacts, previous: Previous | undefined): Step {
  const isFirst = before.pagesOfPass === 0;
  const at = isFirst && !isOfSnapshot(page) ? anchored(before) : before;
  // After an incomplete walk, an unknown row need not be a new row.
  const mayBeNew = previous?.isComplete ? at.newAtTail + at.newElsewhere : Number.POSITIVE_INFINITY;
  const step = at.mode === 'snapshot' ? advanceSnapshot(at, page) : advanceAnchored(at, page, mayBeNew);
  // The next pass begins anew, without this page.
  if (step.metRows === 'clear') return step;
  const isBackwards = isFirst && isOlder(page, previous);
  const checkpoint = withAnomalies(step.checkpoint, isBackwards && 'backwards', ...pageAnomalies(page));
  if (!previous?.isComplete || step.metRows === 'skip') return { ...step, checkpoint };
  const inHead = !at.isPastHead || (at.mode === 'anchored' && at.phase === 'head');
  return { ...step, checkpoint: withNewRows(checkpoint, page, inHead) };
}

/** The anomalies that any page can show, whatever the walk was looking for. */
function pageAnomalies({ offset, pagination, received, keys, doubled }: PageFacts): (Anomaly | false)[] {
  const keyed = keys.filter((key, at) => key !== null && !doubled[at]);
  return [
    pagination.offset !== undefined && pagination.offset !== offset && 'offset',
    pagination.returned !== undefined && pagination.returned !== received && 'returned',
    new Set(keyed).size < keyed.length && 'repeat',
  ];
}

/** Whether the snapshot was generated before the one that the last walk saw: it says nothing of today. */
function isOlder(page: PageFacts, previous: Previous | undefined): boolean {
  return Date.parse(page.generatedAt ?? '') < Date.parse(previous?.checkpoint.generatedAt ?? '');
}

/** Whether the first page shows that the snapshot proven before still stands: then the walk requests nothing else. */
function isUnchanged(previous: Previous | undefined, page: PageFacts): boolean {
  if (!previous?.allowsRenewal || previous.checkpoint.mode !== 'snapshot') return false;
  const { generatedAt, total, firstPage } = previous.checkpoint;
  return (
    typeof page.generatedAt === 'string' &&
    page.generatedAt === generatedAt &&
    page.pagination.total === total &&
    page.digest === firstPage
  );
}

function endOf(
  { checkpoint }: Pick<Step, 'checkpoint'>,
  next: Step['next'],
  isGlanced: boolean,
): WalkEnd | undefined {
  const stuck = next === 'stuck' ? 'stuck' : next === 'go on' && isEndless(checkpoint) ? 'bound' : undefined;
  if (next === 'go on' && !stuck && !isGlanced) return undefined;
  const verdict = stuck ? 'union' : isGlanced ? null : verdictOf(checkpoint);
  const [doubts, gaps] = [describeAnomalies(checkpoint), describeGaps(checkpoint)];
  return { verdict, doubts, gaps, stuck, isRenewal: false };
}

/** A walk to the end proves the dataset complete unless one of its pages showed an anomaly. */
function verdictOf({ anomalies, mode }: Checkpoint): Verdict {
  if (Object.keys(anomalies).length > 0) return 'union';
  return mode === 'snapshot' ? 'snapshot' : 'verified';
}

/** Anomalies that say nothing of a change: an envelope need not say where the dataset ends; `describeGaps` tells of the others. */
const unchanging: ReadonlySet<string> = new Set(['inferred-end', 'skipped', 'refused'] satisfies Anomaly[]);

function describeAnomalies({ anomalies, skipped }: Checkpoint): string | undefined {
  // Rows that were passed over are lacking from the total, too.
  const isOwn = (kind: string) => !unchanging.has(kind) && !(kind === 'total' && skipped.length > 0);
  const wrong = Object.entries(anomalies).filter(([kind]) => isOwn(kind));
  return wrong.map(([kind, times]) => `${kind} ×${times}`).join(', ') || undefined;
}

function describeGaps({ skipped }: Checkpoint): string | undefined {
  if (skipped.length === 0) return undefined;
  const [pages, come] = skipped.length === 1 ? ['page', 'does'] : ['pages', 'do'];
  return `the ${pages} at offset ${skipped.join(' and ')} ${come} not come or cannot be read: passed over`;
}

/*
 * One published snapshot, read as the specification says: while `hasMore`, add `returned` to the offset. It is complete when
 * every key came once and there are `total` rows.
 */

/** A walk begins again this often when its snapshot is replaced; then it goes by anchors. */
const MAX_RESTARTS = 2;

/** Whether a pass that begins with this page can prove a snapshot. Without a total and an end, nobody knows whether all rows came. */
function isOfSnapshot({ generatedAt, pagination: { total, hasMore } }: PageFacts): boolean {
  return typeof generatedAt === 'string' && total !== undefined && hasMore !== undefined;
}

function advanceSnapshot(before: SnapshotCheckpoint, page: PageFacts): Step {
  const turned = turnPage(before, page);
  if (isReplaced(before, page)) return beginAgain(turned);
  const checkpoint = withAnomalies(
    {
      ...turned,
      offset: page.offset + advanceOf(page),
      rows: before.rows + freshRows(page),
      unkeyed: before.unkeyed + unkeyedRows(page),
      doubled: before.doubled + doubledRows(page),
      firstPage: before.firstPage ?? page.digest ?? null,
    },
    repeatsOthers(page) && 'repeat',
  );
  if (page.pagination.hasMore) return goOn(checkpoint, page);
  if (endsTooEarly(checkpoint) && !checkpoint.askedPastEnd) return askPastEnd(checkpoint);
  const { rows, unkeyed, doubled, total, totalFirst } = checkpoint;
  // As many rows as the snapshot says it has, and it said the same throughout.
  const addsUp = rows + unkeyed + doubled === total && total === totalFirst;
  return stepOf(withAnomalies(checkpoint, !addsUp && 'total'), 'end');
}

/** A list that is published anew for every response is read like one without `generatedAt`. */
function beginAgain(turned: SnapshotCheckpoint): Step {
  const { pages, restarts, totalOfWalk } = turned;
  const begun = { ...beginning, ...ofRequests(turned), pages, restarts, totalOfWalk };
  return reset(restarts < MAX_RESTARTS ? begun : anchored(turned));
}

/*
 * The head of a dataset: the pages up to the first one whose second half the mirror knew. Most feeds show new rows there, so
 * that a glance brings them. Half a page, not one row: some rows may be pinned to the top.
 */

const MAX_PAGES_PER_GLANCE = 3;

/** Whether a glance ends with this page: the last, or joined to those before it, and ending in rows that the mirror knew. */
function isGlanced(step: Step, page: PageFacts): boolean {
  const { checkpoint, next, metRows } = step;
  const isLast = checkpoint.mode === 'anchored' && checkpoint.pagesOfPass >= MAX_PAGES_PER_GLANCE;
  return (next === 'go on' && metRows !== 'clear' && isLast) || isHeadRead(step, page);
}

function isHeadRead({ checkpoint, next, metRows }: Step, page: PageFacts): boolean {
  const isReading = checkpoint.mode === 'anchored' && checkpoint.phase === 'rows';
  return isReading && next === 'go on' && metRows === 'add' && endsInKnown(page);
}

/** Counts the page's new rows by their place: in the head, behind all known rows, or elsewhere. */
function withNewRows<Of extends Checkpoint>(checkpoint: Of, page: PageFacts, inHead: boolean): Of {
  let { newInHead, newAtTail, newElsewhere } = checkpoint;
  page.keys.forEach((key, at) => {
    if (key === null || page.met[at]) return;
    if (inHead) newInHead += Number(!page.known[at]);
    else if (!page.known[at]) newAtTail += 1;
    else [newAtTail, newElsewhere] = [0, newElsewhere + newAtTail];
  });
  const isPastHead = checkpoint.isPastHead || endsInKnown(page);
  return { ...checkpoint, newInHead, newAtTail, newElsewhere, isPastHead };
}

/** A row without a key may be new or known, so half a page of them does not count. */
function endsInKnown(page: PageFacts): boolean {
  const isAnyKnown = page.known.lastIndexOf(true) >= Math.floor(page.keys.length / 2);
  return isAnyKnown && endsIn(page.known, page);
}

/** The last bound of a walk for which the API gives no `total`. */
const MAX_PAGES_WITHOUT_TOTAL = 100_000;
/** A `total` that is too small ends no walk before so many pages. */
const MIN_PAGES_BEFORE_ENDLESS = 1_000;
/** A `total` is no promise: a walk may take so many times the calls that it needs at worst. */
const TIMES_THE_WORST = 3;

/**
 * Ends a walk when the API makes up new rows for ever. The first `total` of the walk counts, whatever the API says later. A list
 * with short pages has more of them.
 */
export function isEndless({ pages, pagesOfPass, offset, totalOfWalk }: Checkpoint): boolean {
  if (totalOfWalk === null) return pages >= MAX_PAGES_WITHOUT_TOTAL;
  const pageRows = Math.min(PAGE_ROWS, Math.max(2, Math.ceil(offset / Math.max(1, pagesOfPass))));
  return pages >= Math.max(MIN_PAGES_BEFORE_ENDLESS, TIMES_THE_WORST * mostCalls(totalOfWalk, pageRows));
}
