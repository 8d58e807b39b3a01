/** Which moment of a dataset an answer shows, and what its headers say of that. */

import type { ServedJob } from '../../job-list.ts';
import type { Missing, Moment } from '../../reading/pages.ts';
import type { OpenMirror } from './mirror.ts';
import type { Page } from './page-reader.ts';

/** Moments that were asked for by their number; each costs some look-ups. */
const MOST_KEPT = 1_000;

/** Finds moments, and keeps what it found until something is committed. */
export function momentFinder(): (mirror: OpenMirror, job: ServedJob, seq?: number) => Moment | Missing {
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

/** In milliseconds; infinite where nothing has been proven. */
export function ageOfProof({ completeAsOf }: Pick<Moment, 'completeAsOf'>, now: number): number {
  return completeAsOf === null ? Number.POSITIVE_INFINITY : Math.max(0, now - Date.parse(completeAsOf));
}

/** How fresh and how proven a page is, and how it may be kept. */
export function momentHeaders(moment: Moment, etag: string, now: number): Record<string, string> {
  const { seq, verdict, completeAsOf } = moment;
  const proven = completeAsOf !== null && {
    'X-Mirror-Complete-As-Of': completeAsOf,
    Age: String(Math.floor(ageOfProof(moment, now) / 1_000)),
  };
  return {
    ETag: etag,
    'Cache-Control': 'private, no-cache',
    Vary: 'Authorization, Accept-Encoding',
    'X-Mirror-Seq': String(seq),
    'X-Mirror-Verdict': verdict,
    ...proven,
  };
}

/** Weak, since the same page may come compressed; the same for every key. */
export function etagOf(
  { name }: Pick<OpenMirror, 'name'>,
  { moment, paging, filters }: Pick<Page, 'moment' | 'paging' | 'filters'>,
): string {
  const { job, seq, volatileAsOf } = moment;
  const { offset, limit } = paging;
  return `W/"${[name, job, seq, volatileAsOf ?? '', offset, limit, filters?.key ?? ''].join('.')}"`;
}

/** @param ifNoneMatch the header; compared weakly, as RFC 9110 has it for GET. */
export function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const strong = etag.slice(2);
  return (
    ifNoneMatch.trim() === '*' ||
    ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === strong)
  );
}
