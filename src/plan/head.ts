/** What walks teach of the head of a dataset: whether a glance at it would bring most of what is new. */

import { HOUR_MS } from '../clock.ts';

/** A walk that read the dataset whole: where rows stood that were new to the mirror. See the table `walks`. */
export type FullWalk = {
  /** ISO 8601 UTC. */
  startedAt: string;
  newInHead: number;
  newAtTail: number;
  newElsewhere: number;
  /** Rows that glances had brought since the walk before. */
  glanced: number;
};

export type Head = {
  /** Full walks that were learnt from. */
  walks: number;
  /** Rows that were new, and of them those that stood in the head; walks of long ago count for less. */
  new: number;
  inHead: number;
  /** Whether glances are worth their calls. */
  useful: boolean;
  /**
   * `in-head`: most new rows stood there. `elsewhere`: they did not. `few-rows`, `few-walks`: too little was seen yet.
   * `published`: it is published as a whole, and one call shows whether it changed.
   */
  why: 'in-head' | 'elsewhere' | 'few-rows' | 'few-walks' | 'published';
};

/**
 * What a walk counts for once another has come, an hour later or more. Where walks are more frequent each finds little, and
 * would be forgotten before there is enough to learn from.
 */
const FADE = { to: 0.7, ms: HOUR_MS };
const LEAST_WALKS = 3;
const LEAST_NEW = 5;
const LEAST_IN_HEAD = 1 / 2;

/**
 * @param walks in their order; rows that glances brought stood in front.
 * @param glanced rows that glances have brought since the last of them.
 * @param isPublished whether the last was of a published snapshot.
 */
export function learnHead(walks: readonly FullWalk[], glanced: number, isPublished: boolean): Head {
  let [all, inHead] = [0, 0];
  walks.forEach((walk, at) => {
    const fade = fadeFrom(walks[at - 1] ?? walk, walk);
    all = fade * (all + walk.glanced) + walk.newInHead + walk.newAtTail + walk.newElsewhere;
    inHead = fade * (inHead + walk.glanced) + walk.newInHead;
  });
  all += glanced;
  inHead += glanced;
  const why = judge(walks.length, all, inHead, isPublished);
  return { walks: walks.length, new: all, inHead, useful: why === 'in-head', why };
}

function fadeFrom(before: FullWalk, walk: FullWalk): number {
  const apart = (Date.parse(walk.startedAt) - Date.parse(before.startedAt)) / FADE.ms;
  return FADE.to ** Math.min(1, Math.max(0, apart));
}

function judge(walks: number, all: number, inHead: number, isPublished: boolean): Head['why'] {
  if (isPublished) return 'published';
  if (walks < LEAST_WALKS) return 'few-walks';
  if (all < LEAST_NEW) return 'few-rows';
  return inHead / all >= LEAST_IN_HEAD ? 'in-head' : 'elsewhere';
}
