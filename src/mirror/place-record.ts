/** A walk's place in the form in which the store keeps it, and back. */

import type { WalkPlace, WalkSession } from '../store/index.ts';
import { beginning, type Place } from '../walk/checkpoint.ts';
import { withAnomalies } from '../walk/evidence.ts';

export function recordOf(place: Place): WalkPlace {
  const {
    offset,
    pages,
    rows,
    unkeyed,
    total,
    totalFirst,
    restarts,
    stepsBack,
    anomalies,
    generatedAt,
    ...memory
  } = place;
  return {
    nextOffset: offset,
    pages,
    rows,
    unkeyed,
    total,
    totalFirst,
    restarts,
    stepsBack,
    anomalies: JSON.stringify(anomalies),
    generatedAt: generatedAt ?? null,
    memory: JSON.stringify({ ...memory, dated: generatedAt !== undefined }),
  };
}

/** Where the session's walk goes on: a walk that forgot which rows it met can no longer prove anything. */
export function placeOf({ row, remembers }: Pick<WalkSession, 'row' | 'remembers'>): Place {
  const { nextOffset, pages, rows, unkeyed, total, totalFirst, restarts, stepsBack } = row;
  const { dated, ...memory } = JSON.parse(row.memory) as Partial<Place> & { dated?: boolean };
  const place: Place = {
    ...beginning,
    ...memory,
    offset: nextOffset,
    pages,
    rows,
    unkeyed,
    total,
    totalFirst,
    restarts,
    stepsBack,
    anomalies: JSON.parse(row.anomalies),
    generatedAt: dated ? row.generatedAt : undefined,
  };
  return withAnomalies(place, !remembers && 'forgotten');
}
