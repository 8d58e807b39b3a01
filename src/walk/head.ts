/**
 * The head of a dataset: the pages up to the first one whose second half the mirror knew. Most feeds show new rows there, so
 * that a glance, which reads no more than the head, brings them. Half a page, not one row: some rows may be pinned to the top.
 */

import type { Checkpoint, PageFacts, Step } from './checkpoint.ts';
import { endsIn } from './pages.ts';

/** Whether a glance ends with this page: joined to those before it, it ends in rows that the mirror knew. */
export function isHeadRead({ checkpoint, next, metRows }: Step, page: PageFacts): boolean {
  const isReading = checkpoint.mode === 'anchored' && checkpoint.phase === 'rows';
  return isReading && next === 'go on' && metRows === 'add' && endsInKnown(page);
}

/** The checkpoint with the page's new rows counted by where they stood: in the head, behind all known rows, or elsewhere. */
export function withNewRows<Of extends Checkpoint>(checkpoint: Of, page: PageFacts, inHead: boolean): Of {
  let { newInHead, newAtTail, newElsewhere } = checkpoint;
  page.keys.forEach((key, at) => {
    if (key === null || page.met[at]) return;
    if (inHead) newInHead += Number(!page.known[at]);
    else if (!page.known[at]) newAtTail += 1;
    else [newAtTail, newElsewhere] = [0, newElsewhere + newAtTail];
  });
  return {
    ...checkpoint,
    newInHead,
    newAtTail,
    newElsewhere,
    isPastHead: checkpoint.isPastHead || endsInKnown(page),
  };
}

/** A page that ends in rows without a key does not tell. */
function endsInKnown(page: PageFacts): boolean {
  const isAnyKnown = page.known.lastIndexOf(true) >= Math.floor(page.keys.length / 2);
  return isAnyKnown && endsIn(page.known, page);
}
