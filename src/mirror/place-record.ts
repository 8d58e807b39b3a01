/** A walk's place in the form in which the store keeps it, and back. */

import type { WalkPlace } from '../store/index.ts';
import { beginning, type Place } from '../walk/place.ts';

export function recordOf(place: Place): WalkPlace {
  const { offset, pages, rows, total, totalFirst, restarts, stepsBack, anomalies, generatedAt, ...memory } =
    place;
  return {
    nextOffset: offset,
    pages,
    rows,
    total,
    totalFirst,
    restarts,
    stepsBack,
    anomalies: JSON.stringify(anomalies),
    generatedAt: generatedAt ?? null,
    memory: JSON.stringify({ ...memory, dated: generatedAt !== undefined }),
  };
}

export function placeOf(record: WalkPlace): Place {
  const { nextOffset, pages, rows, total, totalFirst, restarts, stepsBack } = record;
  const { dated, ...memory } = JSON.parse(record.memory) as Partial<Place> & { dated?: boolean };
  return {
    ...beginning,
    ...memory,
    offset: nextOffset,
    pages,
    rows,
    total,
    totalFirst,
    restarts,
    stepsBack,
    anomalies: JSON.parse(record.anomalies),
    generatedAt: dated ? record.generatedAt : undefined,
  };
}
