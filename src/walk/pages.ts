/** What a page shows, and the ways from one page to the next that all walks share. */

import { MOST_FRUITLESS } from './bounds.ts';
import { type Anomaly, type Checkpoint, type PageFacts, type Step, withAnomalies } from './checkpoint.ts';

/** How many rows to advance by: `returned`, but never past rows that did not come. */
export function advanceOf({ pagination, received }: PageFacts): number {
  return Math.min(pagination.returned ?? received, received);
}

/** How many keys of the page this pass had not met before. */
export function freshRows({ keys, met }: PageFacts): number {
  return new Set(keys.filter((key, at) => key !== null && !met[at])).size;
}

/** How many rows of the page, from position `from`, show no key. */
export function unkeyedRows({ keys }: PageFacts, from = 0): number {
  return keys.slice(from).filter((key) => key === null).length;
}

/** Whether all rows in the second half of the page are among `marked`; a row without a key may be any. */
export function endsIn(marked: readonly boolean[], { keys }: PageFacts): boolean {
  const half = Math.floor(keys.length / 2);
  return keys.every((key, at) => at < half || key === null || marked[at]);
}

/** The anomalies that any page can show, whatever the walk was looking for. */
export function pageAnomalies({ offset, pagination, received, keys }: PageFacts): (Anomaly | false)[] {
  const keyed = keys.filter((key) => key !== null);
  return [
    pagination.offset !== undefined && pagination.offset !== offset && 'offset',
    pagination.returned !== undefined && pagination.returned !== received && 'returned',
    new Set(keyed).size < keyed.length && 'repeat',
  ];
}

/** Whether the page is of another snapshot than the one before it in this pass. */
export function isReplaced({ pagesOfPass, generatedAt }: Checkpoint, page: PageFacts): boolean {
  return pagesOfPass > 0 && page.generatedAt !== generatedAt;
}

/** The checkpoint behind a page, as far as any page moves it. */
export function turnPage<Of extends Checkpoint>(before: Of, page: PageFacts): Of {
  const { total = before.total } = page.pagination;
  return {
    ...before,
    pages: before.pages + 1,
    pagesOfPass: before.pagesOfPass + 1,
    generatedAt: page.generatedAt,
    total,
    totalFirst: before.totalFirst ?? total,
    totalOfWalk: before.totalOfWalk ?? total,
  };
}

/**
 * The next page, unless too many in a row have brought nothing new.
 * @param isRereading true where rows are read again: they are not new, nor do they go on for ever.
 * @param fresh how many rows of the page are, where that is known.
 */
export function goOn(
  checkpoint: Checkpoint,
  page: PageFacts,
  isRereading = false,
  fresh = freshRows(page),
): Step {
  const advance = advanceOf(page);
  if (fresh > 0 || (isRereading && advance > 0))
    return { checkpoint: { ...checkpoint, fruitless: 0 }, next: 'go on', metRows: 'add' };
  const fruitless = checkpoint.fruitless + 1;
  // An empty page that promises more is asked for once again, in case it was a passing fault.
  const most = advance === 0 ? 2 : MOST_FRUITLESS;
  if (fruitless >= most)
    return { checkpoint: withAnomalies(checkpoint, 'stuck'), next: 'stuck', metRows: 'add' };
  return { checkpoint: { ...checkpoint, fruitless }, next: 'go on', metRows: 'add' };
}

/** Whether the API calls this the end although its `total` says that more follows. */
export function endsTooEarly({ offset, total }: Checkpoint): boolean {
  return offset < (total ?? 0);
}

/** Asks once for rows behind what the API called the end. */
export function lookBeyond(checkpoint: Checkpoint): Step {
  return { checkpoint: { ...checkpoint, lookedBeyond: true }, next: 'go on', metRows: 'add' };
}
