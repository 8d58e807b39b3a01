/** What an answer is known by to those who have it, and whether they do. */

import { createHash } from 'node:crypto';
import type { OpenMirror } from './mirror.ts';
import type { Page } from './page-reader.ts';

/** Weak, since the same page may come compressed; the same for every key. */
export function etagOf(
  { name }: Pick<OpenMirror, 'name'>,
  { moment, paging, filters }: Pick<Page, 'moment' | 'paging' | 'filters'>,
): string {
  const { job, seq, unversionedSeq } = moment;
  const { offset, limit } = paging;
  return `W/"${[name, job, seq, unversionedSeq ?? '', offset, limit, filters?.key ?? ''].join('.')}"`;
}

/** Of a body that is told by nothing but its bytes. Weak, since it may come compressed. */
export function digestEtag(bytes: string | Buffer): string {
  return `W/"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
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
