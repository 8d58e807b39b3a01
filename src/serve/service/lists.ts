/**
 * The response to a call of a list: which moment it shows, whether the client has it already, whether it is fresh enough, and
 * the bytes of the list page. Nothing of keys and limits is known here.
 */

import { ageOf, type Clock, isTooOld } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import type { ListedJob } from '../../job-list.ts';
import { type Filters, filtersOf } from '../../reading/filters.ts';
import type { Moment } from '../../reading/pages.ts';
import type { Call } from '../http/handler.ts';
import {
  compress,
  type Encoding,
  encodingOf,
  errorResponse,
  type HttpResponse,
  matchesEtag,
  retryAfter,
  type StreamedResponse,
} from '../http/response.ts';
import { abortSignalOf } from '../http/stream.ts';
import { accountOwner, type Pool } from '../pool.ts';
import { atOneMoment } from '../prepared.ts';
import type { FilterQuestion } from '../query/process.ts';
import { type FilteredPage, frameOf, type Paging } from './list-page.ts';
import type { OpenMirror, WatchedMirror } from './mirror.ts';

/** A response that is known but for its body: all that it may cost is taken before anything is read. */
export type Plan = {
  /** How many calls it costs at most. */
  readonly calls: number;
  /**
   * What goes wrong while rows are read is a response, too; what it throws is a bug.
   */
  read(): PlannedResponse | Promise<PlannedResponse>;
};

/** A response, and how many calls it costs after all: one unless given, and none for a 304 or an error. */
export type PlannedResponse = StreamedResponse & { readonly calls?: number };

/** A response that is known already, and costs nothing or one call. */
export const finished = (response: HttpResponse): Plan => ({ calls: 1, read: () => response });

export type Lists = ReturnType<typeof openLists>;

type ListsParts = {
  mirror: WatchedMirror;
  /** The greatest age that is shown, in milliseconds, by job; a job that is not there has no bound. */
  maxAgeMs: Readonly<Record<string, number>>;
  clock: Pick<Clock, 'now'>;
  /** Of filtered pages. */
  dir: string;
  pool: Pick<Pool, 'take'>;
  /** How long rows may be searched. */
  questionMs?: number | undefined;
};

/** The start of a process counts, which takes seconds on a busy machine. */
const FILTER_MS = 10_000;

/** Until a walk may have ended that brings what is missing: the first one, or one that is fresher. */
export const UNREADY_SECONDS = 30;

/** Until the process that keeps the mirror busy may be done. */
export const BUSY_SECONDS = 5;

/** Responses without a page. */
const missing = {
  future: errorResponse('invalid_seq'),
  gone: errorResponse('seq_gone'),
  unread: errorResponse('service_unavailable', retryAfter(UNREADY_SECONDS)),
  unavailable: errorResponse('service_unavailable', retryAfter(BUSY_SECONDS)),
};

export function openLists(parts: ListsParts) {
  const { mirror, maxAgeMs, clock } = parts;
  const readPage = pageReader(parts);

  function planIn(open: OpenMirror, job: ListedJob, call: Call, account: string): Plan {
    const { query, headers } = call;
    const seq = readSeq(query);
    if (seq === 'invalid') return finished(missing.future);
    const present = open.pages.momentOf(job.name);
    if (typeof present === 'string') return finished(missing.unread);
    // The age check uses the latest proof even when `seq` pins an older moment.
    if (isTooOld(ageOfProof(present, clock.now()), maxAgeMs[job.name])) return finished(missing.unread);
    const moment = seq === undefined ? present : open.pages.momentOf(job.name, seq);
    if (typeof moment === 'string') return finished(missing[moment]);
    const page = {
      job,
      moment,
      paging: readPaging(query),
      filters: filtersOf(job, (name) => query.get(name)),
    };
    const etag = etagOf(open, page);
    const listHeaders = freshnessHeaders(moment, etag, clock.now());
    if (matchesEtag(headers['if-none-match'], etag))
      return finished({ status: 304, headers: listHeaders, body: null });
    return {
      calls: 1,
      async read() {
        const body = await readPage(page, call, account);
        if (typeof body === 'string') return missing[body];
        const encoded = body.encoding === 'identity' ? {} : { 'Content-Encoding': body.encoding };
        const all = { 'Content-Type': 'application/json', ...listHeaders, ...encoded };
        return { status: 200, headers: all, body: body.bytes };
      },
    };
  }

  return {
    /** What a call of the account gets, once it is let in. */
    plan: (job: ListedJob, call: Call, account: string): Plan =>
      mirror.read((open) => planIn(open, job, call, account)) ?? finished(missing.unavailable),
  };
}

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 100;

/**
 * Values out of range are brought into it. What is no integer in decimal digits, of which the specification says nothing, counts
 * as absent; of a repeated parameter the first counts.
 */
function readPaging(query: URLSearchParams): Paging {
  return {
    offset: Math.max(0, integerOf(query.get('offset')) ?? 0),
    limit: Math.min(MAX_LIMIT, Math.max(1, integerOf(query.get('limit')) ?? DEFAULT_LIMIT)),
  };
}

function integerOf(text: string | null): number | undefined {
  if (text === null || !/^[+-]?\d+$/.test(text)) return undefined;
  return Math.min(Math.max(Number(text), -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}

/** The moment in the query; undefined for the present, `invalid` for what was never an `X-Mirror-Seq`. */
function readSeq(query: URLSearchParams): number | undefined | 'invalid' {
  const text = query.get('seq');
  if (text === null) return undefined;
  return /^(0|[1-9]\d{0,14})$/.test(text) ? Number(text) : 'invalid';
}

/** In milliseconds; null where nothing has been proven, or the clock was ahead then. */
export function ageOfProof({ completeAsOf }: Pick<Moment, 'completeAsOf'>, now: number): number | null {
  return completeAsOf === null ? null : ageOf(Date.parse(completeAsOf), now);
}

/** How fresh and how proven a page is, and how it may be cached. */
export function freshnessHeaders(
  moment: Pick<Moment, 'seq' | 'verdict' | 'completeAsOf' | 'held'>,
  etag: string,
  now: number,
): Record<string, string> {
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

type ListPage = {
  readonly job: ListedJob;
  readonly moment: Moment;
  readonly paging: Paging;
  /** Null where every row is shown. */
  readonly filters: Filters | null;
};

/** Weak, since the same page may come compressed; the same for every key. */
function etagOf({ name }: OpenMirror, { moment, paging, filters }: ListPage): string {
  const { job, seq, unversionedSeq } = moment;
  const { offset, limit } = paging;
  return `W/"${[name, job, seq, unversionedSeq ?? '', offset, limit, filters?.key ?? ''].join('.')}"`;
}

/** Anything smaller is not worth the work on either side. */
export const MIN_COMPRESSED_BYTES = 1_000;

type PageBody = { bytes: Uint8Array; encoding: Encoding };

/**
 * @returns what reads a page, which its ETag names: `gone` where its moment was forgotten meanwhile, `unavailable` where the
 * mirror cannot be read now, or too many others are filtering.
 */
function pageReader({ dir, mirror, pool, questionMs = FILTER_MS }: ListsParts) {
  return async function readPage(
    page: ListPage,
    call: Call,
    account: string,
  ): Promise<PageBody | 'gone' | 'unavailable'> {
    const encoding = encodingOf(call.headers['accept-encoding']);
    const { filters } = page;
    const plain = filters ? await readFiltered({ ...page, filters }, call, account) : readPlain(page);
    if (typeof plain === 'string') return plain;
    if (encoding === 'identity' || plain.length < MIN_COMPRESSED_BYTES)
      return { bytes: plain, encoding: 'identity' };
    return { bytes: await compress(Buffer.from(plain), encoding, 'quick'), encoding };
  };

  function readPlain({ job, moment, paging }: ListPage): Uint8Array | 'gone' | 'unavailable' {
    const frame = frameOf(job, moment.generatedAt, paging, moment.total);
    const read = mirror.read((open) =>
      atOneMoment(open.connection, () => {
        // History may have been forgotten since the moment was found.
        const isGone = typeof open.pages.momentOf(job.name, moment.seq) === 'string';
        return { bytes: isGone ? null : open.pages.readPage(moment, paging.offset, paging.limit, frame) };
      }),
    );
    return read === undefined ? 'unavailable' : (read.bytes ?? 'gone');
  }

  async function readFiltered(page: FilteredPage, call: Call, account: string) {
    const signal = abortSignalOf(call);
    try {
      const loan = await pool.take(accountOwner(account), signal);
      if (!loan) return 'unavailable';
      try {
        const bounds = { signal, timeoutMs: questionMs };
        const question = { dir, page };
        return (await loan.queries.send<FilterQuestion, Uint8Array | null>(question, bounds)) ?? 'gone';
      } finally {
        loan.giveBack();
      }
    } catch (thrown) {
      if (!(thrown instanceof Failure) || thrown.kind === 'bug') throw thrown;
      return 'unavailable';
    }
  }
}
