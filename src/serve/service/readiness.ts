/** Whether every dataset is as fresh as it is meant to be: fresh to `status`, and no older than the service may show. */

import { isTooOld } from '../../clock.ts';
import type { DatasetStatus } from '../../reading/status.ts';

/** The body of `/readyz`. Within a release line members are added, never removed or changed in meaning. */
export type Readiness = {
  ready: boolean;
  mirror: 'readable' | 'unreadable';
  /** Of the database of keys and counts: while it is not, every call is refused with 503. */
  keys: 'readable' | 'unreadable';
  /** Those that have a schedule. */
  datasets: DatasetReadiness[];
};

export type DatasetReadiness = Pick<DatasetStatus, 'job' | 'verdict' | 'completeAsOf' | 'ageSeconds'> & {
  ready: boolean;
  /** The greatest age that is ready: the one beyond which `status` calls it stale, or `MIRROR_SERVE_MAX_AGE` if that is less. */
  boundSeconds: number | null;
  /** `too-old`: fresh by its schedule, but older than `MIRROR_SERVE_MAX_AGE`; the others are problems of `status`. */
  why: 'never-complete' | 'clock-ahead' | 'stale' | 'too-old' | null;
};

/** Of the mirror alone. */
export type MirrorReadiness = Omit<Readiness, 'keys'>;

export const unreadable: MirrorReadiness = { ready: false, mirror: 'unreadable', datasets: [] };

/** @param maxAgeMs the greatest age that the service shows, by job. */
export function readinessOf(
  datasets: readonly DatasetStatus[],
  maxAgeMs: Readonly<Record<string, number>>,
): MirrorReadiness {
  const scheduled = datasets.filter(({ staleAfterSeconds }) => staleAfterSeconds !== null);
  const each = scheduled.map((dataset) => datasetReadiness(dataset, maxAgeMs[dataset.job]));
  return { ready: each.every(({ ready }) => ready), mirror: 'readable', datasets: each };
}

export function withKeys({ ready, mirror, datasets }: MirrorReadiness, keysUp: boolean): Readiness {
  return { ready: ready && keysUp, mirror, keys: keysUp ? 'readable' : 'unreadable', datasets };
}

function datasetReadiness(
  { job, verdict, completeAsOf, ageSeconds, staleAfterSeconds, fresh }: DatasetStatus,
  maxAgeMs: number | undefined,
): DatasetReadiness {
  const maxAgeSeconds = maxAgeMs === undefined ? undefined : maxAgeMs / 1_000;
  const boundSeconds = Math.min(
    staleAfterSeconds ?? Number.POSITIVE_INFINITY,
    maxAgeSeconds ?? Number.POSITIVE_INFINITY,
  );
  const why = whyNot();
  return { job, ready: why === null, verdict, completeAsOf, ageSeconds, boundSeconds, why };

  function whyNot(): DatasetReadiness['why'] {
    if (completeAsOf === null) return 'never-complete';
    if (ageSeconds === null) return 'clock-ahead';
    if (!fresh) return 'stale';
    return isTooOld(ageSeconds, maxAgeSeconds) ? 'too-old' : null;
  }
}
