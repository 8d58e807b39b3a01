/**
 * What the service answers to those who ask for a page: which moment, whether they have it already, whether it is fresh
 * enough, and its bytes. It knows nothing of keys and limits.
 */

import type { Clock } from '../clock.ts';
import type { ServedJob } from '../job-list.ts';
import type { Moment } from '../reading/pages.ts';
import { type Answer, errorAnswer, type Planned, planned } from './answers/answer.ts';
import { type Paging, readPaging, readSeq } from './answers/asked.ts';
import { pageBody } from './answers/body.ts';
import { createKeptPages, type Encoding } from './answers/kept-pages.ts';
import { type Mirror, type OpenMirror, watchedMirror } from './answers/mirror.ts';
import { ageOfProof, etagOf, isKnown, momentFinder, momentHeaders } from './answers/moments.ts';
import type { Tell } from './trouble.ts';

export {
  type Answer,
  errorAnswer,
  jsonAnswer,
  type Planned,
  planned,
  refusedAnswer,
} from './answers/answer.ts';
export { type Encoding, encodings } from './answers/kept-pages.ts';
export { isKnown } from './answers/moments.ts';

export type Asked = {
  readonly query: URLSearchParams;
  readonly ifNoneMatch: string | undefined;
  readonly encoding: Encoding;
};

export type Answers = {
  /** What a call to a list gets, once it is let in. */
  plan(job: ServedJob, asked: Asked): Planned;
  readonly mirror: Mirror;
  close(): void;
};

export type AnswersParts = {
  dir: string;
  jobs: readonly ServedJob[];
  /** The greatest age that is answered, in milliseconds, by job; a job that is not there has no bound. */
  maxAgeMs: Readonly<Record<string, number>>;
  clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Told of what keeps the mirror from being read, once each. */
  tell: Tell;
};

/** Until the first walk may have ended, or a fresher one. */
const UNREADY_SECONDS = 30;

/** Until whoever keeps the mirror busy may be through. */
const BUSY_SECONDS = 5;

/** What is smaller is not worth the work on either side. */
const COMPRESSED_FROM_BYTES = 1_000;

export function openAnswers({ dir, jobs, maxAgeMs, clock, tell }: AnswersParts): Answers {
  const mirror = watchedMirror(dir, jobs, clock, tell);
  const momentOf = momentFinder();
  const kept = createKeptPages();

  function plan(job: ServedJob, asked: Asked): Planned {
    return mirror.read((open) => planIn(open, job, asked)) ?? planned(unavailable);
  }

  function planIn(open: OpenMirror, job: ServedJob, { query, ifNoneMatch, encoding }: Asked): Planned {
    const seq = readSeq(query);
    if (seq === 'invalid') return planned(errorAnswer('invalid_seq'));
    const present = momentOf(open, job);
    if (typeof present === 'string' || isTooOld(job, present)) return planned(unready);
    const moment = seq === undefined ? present : momentOf(open, job, seq);
    if (typeof moment === 'string') return planned(missing[moment]);
    const paging = readPaging(query);
    const name = `${paging.offset}.${paging.limit}`;
    const etag = etagOf(moment, name);
    const headers = momentHeaders(moment, etag, clock.now());
    if (isKnown(ifNoneMatch, etag)) return planned({ status: 304, headers, body: null });
    return { costsQuota: true, read: () => pageAnswer(job, moment, paging, { etag, headers, encoding }) };
  }

  const isTooOld = ({ name }: ServedJob, present: Moment) =>
    ageOfProof(present, clock.now()) > (maxAgeMs[name] ?? Number.POSITIVE_INFINITY);

  function pageAnswer(
    job: ServedJob,
    moment: Moment,
    paging: Paging,
    { etag, headers, encoding }: { etag: string; headers: Answer['headers']; encoding: Encoding },
  ): Answer | Promise<Answer> {
    const answer = (body: Buffer, form: Encoding): Answer => ({
      status: 200,
      headers: {
        'Content-Type': 'application/json',
        ...headers,
        ...(form === 'identity' ? {} : { 'Content-Encoding': form }),
      },
      body,
    });
    const found = kept.find(etag, encoding);
    if (found) return answer(found, encoding);
    const page = kept.find(etag, 'identity') ?? readPage(job, moment, paging);
    if (!Buffer.isBuffer(page)) return page;
    kept.keep(etag, page);
    if (encoding === 'identity' || page.length < COMPRESSED_FROM_BYTES) return answer(page, 'identity');
    return kept.encoded(etag, page, encoding).then((form) => answer(form, encoding));
  }

  function readPage(job: ServedJob, moment: Moment, paging: Paging): Buffer | Answer {
    const read = mirror.read(({ connection, pages }) =>
      connection.transaction(() => {
        // History may have been forgotten since the moment was found.
        if (typeof pages.momentOf(job.name, moment.seq) === 'string') return missing.gone;
        const rows = pages.readPage(moment, paging.offset, paging.limit);
        return pageBody(job, moment.generatedAt, rows, paging, moment.total);
      })(),
    );
    return read ?? unavailable;
  }

  return { plan, mirror, close: mirror.close };
}

const unready = errorAnswer('service_unavailable', { retryAfter: UNREADY_SECONDS });
const unavailable = errorAnswer('service_unavailable', { retryAfter: BUSY_SECONDS });
const missing = { future: errorAnswer('invalid_seq'), gone: errorAnswer('seq_gone'), unread: unready };
