/**
 * What the service answers to those who ask for a page: which moment, whether they have it already, whether it is fresh
 * enough, and its bytes. It knows nothing of keys and limits.
 */

import { type Clock, isTooOld } from '../../clock.ts';
import type { ListedJob } from '../../job-list.ts';
import { filtersOf } from '../../reading/filters.ts';
import type { Moment } from '../../reading/pages.ts';
import { type Answer, errorAnswer, type Planned, planned } from './answers/answer.ts';
import { readPaging, readSeq } from './answers/asked.ts';
import type { Encoding } from './answers/compress.ts';
import { etagOf, isKnown } from './answers/etag.ts';
import { type Mirror, type OpenMirror, watchedMirror } from './answers/mirror.ts';
import { ageOfProof, momentFinder, momentHeaders } from './answers/moments.ts';
import { type PageSource, pageReader } from './answers/page-reader.ts';
import type { Tell } from './trouble.ts';

export {
  type Answer,
  errorAnswer,
  jsonAnswer,
  type Planned,
  planned,
  refusedAnswer,
} from './answers/answer.ts';
export { compress, type Encoding, encodings } from './answers/compress.ts';
export { digestEtag, isKnown } from './answers/etag.ts';
export type { Mirror } from './answers/mirror.ts';
export type { PageSource } from './answers/page-reader.ts';

export type Asked = {
  readonly query: URLSearchParams;
  readonly ifNoneMatch: string | undefined;
  /** The best that the client takes. */
  readonly encoding: Encoding;
  /** Aborted when the client is gone. */
  readonly gone: AbortSignal;
};

export type Answers = {
  /** What a call of the account to a list gets, once it is let in. */
  plan(job: ListedJob, asked: Asked, account: string): Planned;
  readonly mirror: Pick<Mirror, 'read'>;
  close(): Promise<void>;
};

export type AnswersParts = {
  dir: string;
  jobs: readonly ListedJob[];
  /** The greatest age that is answered, in milliseconds, by job; a job that is not there has no bound. */
  maxAgeMs: Readonly<Record<string, number>>;
  clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Told of what keeps the mirror from being read, once each. */
  tell: Tell;
  /** Told of each page that is answered, whether it was kept from an earlier call or read from the mirror. */
  pageTold(source: PageSource): void;
};

/** Until a walk may have ended that brings what is missing: the first one, or one that is fresher. */
export const UNREADY_SECONDS = 30;

/** Until whoever keeps the mirror busy may be through. */
const BUSY_SECONDS = 5;

export function openAnswers({ dir, jobs, maxAgeMs, clock, tell, pageTold }: AnswersParts): Answers {
  const mirror = watchedMirror(dir, jobs, clock, tell);
  const momentOf = momentFinder();
  const readPage = pageReader(mirror, momentOf, pageTold);

  function planIn(open: OpenMirror, job: ListedJob, asked: Asked, account: string): Planned {
    const { query, ifNoneMatch } = asked;
    const seq = readSeq(query);
    if (seq === 'invalid') return planned(missing.future);
    const present = momentOf(open, job);
    if (typeof present === 'string' || isOutdated(job, present)) return planned(missing.unread);
    const moment = seq === undefined ? present : momentOf(open, job, seq);
    if (typeof moment === 'string') return planned(missing[moment]);
    const page = {
      job,
      moment,
      paging: readPaging(query),
      filters: filtersOf(job, (name) => query.get(name)),
    };
    const etag = etagOf(open, page);
    const headers = momentHeaders(moment, etag, clock.now());
    if (isKnown(ifNoneMatch, etag)) return planned({ status: 304, headers, body: null });
    return {
      costsQuota: true,
      async read() {
        const read = await readPage(page, etag, asked, account);
        return typeof read === 'string' ? missing[read] : pageAnswer(headers, read);
      },
    };
  }

  /** The latest proof counts, also where `seq` pins an older moment. */
  const isOutdated = ({ name }: ListedJob, present: Moment) =>
    isTooOld(ageOfProof(present, clock.now()), maxAgeMs[name]);

  return {
    plan: (job, asked, account) =>
      mirror.read((open) => planIn(open, job, asked, account)) ?? planned(missing.unavailable),
    mirror,
    close: mirror.close,
  };
}

function pageAnswer(
  headers: Answer['headers'],
  { bytes, encoding }: { bytes: Buffer; encoding: Encoding },
): Answer {
  const encoded = encoding === 'identity' ? {} : { 'Content-Encoding': encoding };
  return {
    status: 200,
    headers: { 'Content-Type': 'application/json', ...headers, ...encoded },
    body: bytes,
  };
}

/** What is said instead of a page. */
const missing = {
  future: errorAnswer('invalid_seq'),
  gone: errorAnswer('seq_gone'),
  unread: errorAnswer('service_unavailable', { retryAfter: UNREADY_SECONDS }),
  unavailable: errorAnswer('service_unavailable', { retryAfter: BUSY_SECONDS }),
};
