/**
 * Reading a dataset page by page, and saying what the pages prove of it: to its end, or, for a glance, until a page ends in
 * rows that the mirror knew.
 */

import { advanceAnchored } from './walk/anchored.ts';
import { isEndless } from './walk/bounds.ts';
import {
  anchored,
  type Checkpoint,
  type MetRowsChange,
  type PageFacts,
  type Step,
  withAnomalies,
} from './walk/checkpoint.ts';
import { requestOffset } from './walk/foresee.ts';
import { isHeadRead, withNewRows } from './walk/head.ts';
import { pageAnomalies } from './walk/pages.ts';
import { advanceSnapshot, isOfSnapshot } from './walk/snapshot.ts';

export type WalkedPage<Page> = {
  page: Page;
  /** Where the walk stands behind this page, and what the page does to the rows met: to be saved with it. */
  checkpoint: Checkpoint;
  metRows: MetRowsChange;
  /** Set on the last page. */
  end: WalkEnd | undefined;
};

/**
 * `snapshot`: all pages of one published snapshot, every key once, as many as `total`.
 * `verified`: every page joined to the one before by a row that both show; no row present throughout was missed.
 * `union`: everything received is kept, nothing is proved.
 */
export type Verdict = 'snapshot' | 'verified' | 'union';

/** A glance reads the head of a dataset alone, and proves nothing; where it finds no end of new rows, it is a walk. */
export type WalkKind = 'walk' | 'glance';

export type WalkEnd = {
  /** Null where a glance ended at the end of the head. */
  verdict: Verdict | null;
  /** What kept a union from being a proof, for people; undefined where nothing went wrong. */
  unproven: string | undefined;
  /** Set where no answer of the API ended the walk: its checkpoint is worth nothing. */
  stuck: 'stuck' | 'bound' | undefined;
  /** True where one call showed that what the previous walk proved still stands. */
  renewed: boolean;
};

/** What the walk before this one left behind. */
export type Previous = {
  /** Where it ended. */
  checkpoint: Checkpoint;
  /** True where its proof may be renewed by one call; else only all pages prove anything. */
  renewable: boolean;
  /** True where it was complete, so that rows which the mirror does not know came since. */
  isComplete: boolean;
};

/**
 * Yields each page with the checkpoint behind it, from `checkpoint` to the end of what is to be read. The next page is
 * asked for only when the consumer, who has saved the last one, comes back: `met` then knows its rows.
 * Bounded in calls (see `bounds.ts`), whatever the API answers.
 * @param read asks the API for a page from an offset, as a walk needs it that stands at the checkpoint; its errors pass through.
 * @param previous the walk before this one, whose proof the first page may renew.
 */
export async function* walk<Page extends PageFacts>(
  read: (offset: number, at: Checkpoint) => Promise<Page>,
  checkpoint: Checkpoint,
  previous?: Previous,
  kind: WalkKind = 'walk',
): AsyncGenerator<WalkedPage<Page>, void> {
  for (let at = beginWith(checkpoint, previous); ; ) {
    const page = await read(requestOffset(at), at);
    const step = advance(at, page, previous);
    const isRenewed = kind === 'walk' && at.pages === 0 && isUnchanged(previous, page);
    const end = isRenewed ? renewal : endOf(step, kind === 'glance' && isHeadRead(step, page));
    yield { page, checkpoint: step.checkpoint, metRows: step.metRows, end };
    if (end) return;
    at = step.checkpoint;
  }
}

const renewal: WalkEnd = { verdict: 'snapshot', unproven: undefined, stuck: undefined, renewed: true };

/** Only anchors can prove anything of a list whose snapshot was replaced from one page to the next. */
function beginWith(checkpoint: Checkpoint, previous: Previous | undefined): Checkpoint {
  const last = previous?.checkpoint;
  const isRestless = last?.mode === 'anchored' && last.replaced;
  return checkpoint.pages === 0 && isRestless ? anchored(checkpoint) : checkpoint;
}

function advance(before: Checkpoint, page: PageFacts, previous: Previous | undefined): Step {
  const isFirst = before.pagesOfPass === 0;
  const at = isFirst && !isOfSnapshot(page) ? anchored(before) : before;
  const mayBeNew = previous?.isComplete ? at.newAtTail + at.newElsewhere : Number.POSITIVE_INFINITY;
  const step = at.mode === 'snapshot' ? advanceSnapshot(at, page) : advanceAnchored(at, page, mayBeNew);
  if (step.metRows === 'clear') return step;
  const isBackwards = isFirst && isOlder(page, previous);
  const anomalies = [isBackwards && ('backwards' as const), ...pageAnomalies(page)];
  const checkpoint = withAnomalies(step.checkpoint, ...anomalies);
  if (!previous?.isComplete || step.metRows === 'skip') return { ...step, checkpoint };
  const inHead = !at.isPastHead || (at.mode === 'anchored' && at.phase === 'head');
  return { ...step, checkpoint: withNewRows(checkpoint, page, inHead) };
}

/** Whether the first page shows that the snapshot proven before still stands: then nothing else is asked for. */
function isUnchanged(previous: Previous | undefined, page: PageFacts): boolean {
  if (!previous?.renewable || previous.checkpoint.mode !== 'snapshot') return false;
  const { generatedAt, total, firstPage } = previous.checkpoint;
  return (
    typeof page.generatedAt === 'string' &&
    page.generatedAt === generatedAt &&
    page.pagination.total === total &&
    page.digest === firstPage
  );
}

/** Whether the snapshot was generated before the one that the last walk saw: it says nothing of today. */
function isOlder(page: PageFacts, previous: Previous | undefined): boolean {
  return Date.parse(page.generatedAt ?? '') < Date.parse(previous?.checkpoint.generatedAt ?? '');
}

function endOf({ checkpoint, next }: Step, isGlanced: boolean): WalkEnd | undefined {
  const stuck = next === 'stuck' ? 'stuck' : next === 'go on' && isEndless(checkpoint) ? 'bound' : undefined;
  const unproven = describeAnomalies(checkpoint);
  if (stuck) return { verdict: 'union', unproven, stuck, renewed: false };
  if (next === 'go on' && !isGlanced) return undefined;
  return { verdict: isGlanced ? null : verdictOf(checkpoint), unproven, stuck, renewed: false };
}

function verdictOf({ anomalies, mode }: Checkpoint): Verdict {
  if (Object.keys(anomalies).length > 0) return 'union';
  return mode === 'snapshot' ? 'snapshot' : 'verified';
}

/** The anomalies in words; an envelope that does not say where the dataset ends is not one that went wrong. */
function describeAnomalies({ anomalies }: Checkpoint): string | undefined {
  const wrong = Object.entries(anomalies).filter(([kind]) => kind !== 'inferred-end');
  return wrong.map(([kind, times]) => `${kind} ×${times}`).join(', ') || undefined;
}
