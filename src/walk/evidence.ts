/** What the pages of a walk say for and against its completeness. */

import type { Anomaly } from './anomaly.ts';
import { isOfSnapshot, type PageFacts, type Place } from './checkpoint.ts';

/**
 * `snapshot`: all pages of one published snapshot, every key once, as many as `total`.
 * `verified`: every page joined to the one before by a row that both show; no row present throughout was missed.
 * `union`: everything received is kept, nothing is proved.
 */
export type Verdict = 'snapshot' | 'verified' | 'union';

/** The place, with one more of each anomaly. */
export function withAnomalies(place: Place, ...found: (Anomaly | false | undefined)[]): Place {
  const anomalies = { ...place.anomalies };
  for (const anomaly of found) if (anomaly) anomalies[anomaly] = (anomalies[anomaly] ?? 0) + 1;
  return { ...place, anomalies };
}

export function verdictOf(place: Place): Verdict {
  if (Object.keys(place.anomalies).length > 0) return 'union';
  return isOfSnapshot(place) ? 'snapshot' : 'verified';
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

/** How many rows to advance by: `returned`, but never past rows that did not come. */
export function advanceOf({ pagination, received }: PageFacts): number {
  return Math.min(pagination.returned ?? received, received);
}

/** How many keys of the page this pass had not met before. */
export function freshRows({ keys, seen }: PageFacts): number {
  return new Set(keys.filter((key, at) => key !== null && !seen[at])).size;
}

/** How many rows of the page, from position `from`, show no key. */
export function unkeyedRows({ keys }: PageFacts, from = 0): number {
  return keys.slice(from).filter((key) => key === null).length;
}

/** The anomalies in words; an envelope that does not say where the dataset ends is not one that went wrong. */
export function describeAnomalies({ anomalies }: Place): string | undefined {
  const wrong = Object.entries(anomalies).filter(([kind]) => kind !== 'inferred-end');
  return wrong.map(([kind, times]) => `${kind} ×${times}`).join(', ') || undefined;
}
