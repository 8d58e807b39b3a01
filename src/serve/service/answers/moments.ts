/** Which moment of a dataset an answer shows, and what its headers say of that. */

import { ageOf } from '../../../clock.ts';
import type { ListedJob } from '../../../job-list.ts';
import type { Missing, Moment } from '../../../reading/pages.ts';
import type { OpenMirror } from './mirror.ts';

/** Moments that were asked for by their number; each costs some look-ups. */
const MOST_KEPT = 1_000;

export type MomentFinder = (mirror: OpenMirror, job: ListedJob, seq?: number) => Moment | Missing;

/** Finds moments, and keeps what it found until something is committed. */
export function momentFinder(): MomentFinder {
  const found = new Map<string, Moment | Missing>();
  let foundIn: OpenMirror | undefined;
  let version: number | undefined;
  return (mirror, { name }, seq) => {
    const now = mirror.version();
    if (mirror !== foundIn || now !== version || found.size >= MOST_KEPT) found.clear();
    foundIn = mirror;
    version = now;
    const asked = `${name} ${seq ?? ''}`;
    const kept = found.get(asked);
    if (kept !== undefined) return kept;
    const moment = mirror.pages.momentOf(name, seq);
    found.set(asked, moment);
    return moment;
  };
}

/** In milliseconds; null where nothing has been proven, or the clock was ahead then. */
export function ageOfProof({ completeAsOf }: Pick<Moment, 'completeAsOf'>, now: number): number | null {
  return completeAsOf === null ? null : ageOf(Date.parse(completeAsOf), now);
}

/** How fresh and how proven a page is, and how it may be kept. */
export function momentHeaders(moment: Moment, etag: string, now: number): Record<string, string> {
  const { seq, verdict, completeAsOf, held } = moment;
  const age = ageOfProof(moment, now);
  const proven = completeAsOf !== null &&
    age !== null && {
      'X-Mirror-Complete-As-Of': completeAsOf,
      Age: String(Math.floor(age / 1_000)),
    };
  return {
    ETag: etag,
    'Cache-Control': 'private, no-cache',
    Vary: 'Authorization, Accept-Encoding',
    'X-Mirror-Seq': String(seq),
    'X-Mirror-Verdict': verdict,
    'X-Mirror-Held': String(held),
    ...proven,
  };
}
