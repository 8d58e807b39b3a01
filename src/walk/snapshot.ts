/**
 * One published snapshot, by the specification's rule to the letter: go on while `hasMore`, and add `returned` to
 * the offset. Its rows are all there when every key came once and they are as many as `total`.
 */

import {
  advanceOf,
  anchored,
  beginning,
  endsTooEarly,
  freshRows,
  goOn,
  isReplaced,
  lookBeyond,
  type PageFacts,
  reset,
  type SnapshotCheckpoint,
  type Step,
  turnPage,
  unkeyedRows,
  withAnomalies,
} from './checkpoint.ts';

/** A snapshot that is replaced while it is read is begun again this often, and then read by anchors. */
export const MAX_RESTARTS = 2;

/** Whether a pass that begins with this page can hold to a snapshot; without a total nothing would add up. */
export function isOfSnapshot({ generatedAt, pagination }: PageFacts): boolean {
  return typeof generatedAt === 'string' && pagination.total !== undefined;
}

export function advanceSnapshot(before: SnapshotCheckpoint, page: PageFacts): Step {
  const turned = turnPage(before, page);
  if (isReplaced(before, page)) return beginAgain(turned);
  const checkpoint = withAnomalies(
    {
      ...turned,
      offset: page.offset + advanceOf(page),
      rows: before.rows + freshRows(page),
      unkeyed: before.unkeyed + unkeyedRows(page),
      firstPage: before.firstPage ?? page.digest ?? null,
    },
    page.met.includes(true) && 'repeat',
  );
  if (page.pagination.hasMore) return goOn(checkpoint, page);
  if (endsTooEarly(checkpoint) && !checkpoint.lookedBeyond) return lookBeyond(checkpoint);
  return {
    checkpoint: withAnomalies(checkpoint, !addsUp(checkpoint) && 'total'),
    next: 'end',
    metRows: 'add',
  };
}

/** Some publish anew for every answer, and some while we read: such a list is read like one without `generatedAt`. */
function beginAgain(turned: SnapshotCheckpoint): Step {
  const { pages, restarts, totalOfWalk } = turned;
  return reset(restarts < MAX_RESTARTS ? { ...beginning, pages, restarts, totalOfWalk } : anchored(turned));
}

/** As many rows as the snapshot says it has, and it said the same throughout. */
function addsUp({ rows, unkeyed, total, totalFirst }: SnapshotCheckpoint): boolean {
  return rows + unkeyed === total && total === totalFirst;
}
