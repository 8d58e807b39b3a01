/**
 * The response to a call of a list: which moment it shows, whether the client has it already, whether it is fresh enough, and
 * the bytes of the list page. Nothing of keys and limits is known here.
 */

import { LRUCache } from 'lru-cache';
import { byteCache } from '../../byte-cache.ts';
import { ageOf, type Clock, isTooOld } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import type { ListedJob } from '../../job-list.ts';
import { type Filters, filtersOf } from '../../reading/filters.ts';
import type { Frame, Missing, Moment } from '../../reading/pages.ts';
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
import { atOneMoment, untilCommit } from '../until-commit.ts';
import type { Charge } from './admission.ts';
import type { OpenMirror, WatchedMirror } from './mirror.ts';

/** A response that is known but for its body: all that it may cost is taken before anything is read. */
export type Plan = {
  /** How many calls it costs at most. */
  readonly calls: number;
  /**
   * What goes wrong while rows are read is a response, too; what it throws is a bug.
   * @param takeCall takes a further call, for a response that goes on; undefined where the quota has none.
   */
  read(takeCall: () => Charge | undefined): PlannedResponse | Promise<PlannedResponse>;
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
  /** Called for each page with rows that is sent. */
  onPage(source: PageSource): void;
};

/** Whether a list page was cached by an earlier call, or read from the mirror. */
export type PageSource = 'kept' | 'read';

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

export function openLists({ mirror, maxAgeMs, clock, onPage }: ListsParts) {
  const readPage = pageReader(mirror, onPage);

  function planIn(open: OpenMirror, job: ListedJob, call: Call, account: string): Plan {
    const { query, headers } = call;
    const seq = readSeq(query);
    if (seq === 'invalid') return finished(missing.future);
    const present = findMoment(open, job);
    if (typeof present === 'string') return finished(missing.unread);
    // The age check uses the latest proof even when `seq` pins an older moment.
    if (isTooOld(ageOfProof(present, clock.now()), maxAgeMs[job.name])) return finished(missing.unread);
    const moment = seq === undefined ? present : findMoment(open, job, seq);
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
        const body = await readPage(page, etag, call, account);
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

/** Offset paging (specification, "Paging parameters"). */
type Paging = { readonly offset: number; readonly limit: number };

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

/** Moments that were found by their number; each costs some lookups. */
const MAX_KNOWN_MOMENTS = 1_000;

/** Kept until something is committed. */
function findMoment({ connection, pages }: OpenMirror, { name }: ListedJob, seq?: number): Moment | Missing {
  const known = untilCommit(connection)('moments', () => new Map<string, Moment | Missing>());
  if (known.size >= MAX_KNOWN_MOMENTS) known.clear();
  const id = `${name} ${seq ?? ''}`;
  const moment = known.get(id) ?? pages.momentOf(name, seq);
  known.set(id, moment);
  return moment;
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

type PageBody = { bytes: Buffer; encoding: Encoding };

/**
 * @returns what reads a page, which its ETag names: `gone` where its moment was forgotten meanwhile, `unavailable` where the
 * mirror cannot be read now, or too many others are filtering.
 */
function pageReader(mirror: WatchedMirror, onPage: ListsParts['onPage']) {
  const cache = createPageCache();

  return async function readPage(
    page: ListPage,
    etag: string,
    call: Call,
    account: string,
  ): Promise<PageBody | 'gone' | 'unavailable'> {
    const encoding = encodingOf(call.headers['accept-encoding']);
    const cached = cache.find(etag, encoding);
    if (cached) {
      onPage('kept');
      return { bytes: cached, encoding };
    }
    const known = cache.find(etag, 'identity');
    const plain = known ?? (await readPlain(page, etag, call, account));
    if (typeof plain === 'string') return plain;
    onPage(known ? 'kept' : 'read');
    if (encoding === 'identity' || plain.length < MIN_COMPRESSED_BYTES)
      return { bytes: plain, encoding: 'identity' };
    return { bytes: await cache.encode(etag, plain, encoding), encoding };
  };

  async function readPlain(page: ListPage, etag: string, call: Call, account: string) {
    const { job, moment, paging, filters } = page;
    const { offset, limit } = paging;
    const numbers = filters && (await filter(moment, filters, call, account));
    if (typeof numbers === 'string' || numbers === undefined) return 'unavailable';
    const frame = frameOf(job, moment.generatedAt, paging, numbers?.length ?? moment.total);
    const read = mirror.read((open) =>
      atOneMoment(open.connection, () => {
        // History may have been forgotten since the moment was found.
        if (typeof findMoment(open, job, moment.seq) === 'string') return { bytes: null };
        const bytes = numbers
          ? open.pages.readNumbers(moment, numbers.subarray(offset, offset + limit), frame)
          : open.pages.readPage(moment, offset, limit, frame);
        return { bytes };
      }),
    );
    if (read === undefined) return 'unavailable';
    if (read.bytes === null) return 'gone';
    cache.add(etag, read.bytes);
    return read.bytes;
  }

  /** @returns undefined where the mirror was replaced or closed under the scan, or its disk fails: the next read reports it. */
  async function filter(moment: Moment, filters: Filters, call: Call, account: string) {
    const signal = abortSignalOf(call);
    const finding = mirror.read(({ rowFilter }) => rowFilter.find(moment, filters, account, signal));
    return await finding?.catch((thrown: unknown) => {
      if (!(thrown instanceof Failure) || thrown.kind === 'bug') throw thrown;
    });
  }
}

/** AiSignalPage for a dataset with a contract; else `rows` and `pagination`, and `generatedAt` where upstream has one. */
function frameOf(
  { page }: ListedJob,
  generatedAt: string | null,
  { offset, limit }: Paging,
  total: number,
): Frame {
  const dated = generatedAt === null ? page : { generatedAt, ...page };
  const members = Object.entries(dated).map(
    ([name, value]) =>
      `${JSON.stringify(name)}:${JSON.stringify(name === 'generatedAt' ? generatedAt : value)},`,
  );
  return (returned) => {
    const hasMore = returned > 0 && offset + returned < total;
    const pagination = JSON.stringify({ offset, limit, total, returned, hasMore });
    return [`{${members.join('')}"rows":[`, `],"pagination":${pagination}}`];
  };
}

const MAX_CACHED_BYTES = 64 * 1024 ** 2;

/** Pages that were read once, of which only the names are kept. */
const MAX_KNOWN_PAGES = 10_000;

/**
 * Pages that are requested again, each compressed once. A page is kept when it is read for the second time: most pages of a list
 * are requested once, by a client that reads all of it. They would push out the others, and each would be collected as old
 * garbage, for which V8 goes through its whole heap.
 */
function createPageCache() {
  type Forms = Readonly<Partial<Record<Encoding, Buffer>>>;
  const pages = byteCache<Forms>(MAX_CACHED_BYTES, (forms) =>
    Object.values(forms).reduce((bytes, form) => bytes + form.length, 0),
  );
  const readOnce = new LRUCache<string, true>({ max: MAX_KNOWN_PAGES });
  const set = (etag: string, form: Forms) => pages.set(etag, { ...pages.get(etag), ...form });
  return {
    find: (etag: string, encoding: Encoding) => pages.get(etag)?.[encoding],
    add(etag: string, page: Buffer) {
      if (readOnce.has(etag)) set(etag, { identity: page });
      else readOnce.set(etag, true);
    },
    /** Two calls at once compress a page twice, which harms nobody. */
    async encode(etag: string, page: Buffer, encoding: 'gzip' | 'br'): Promise<Buffer> {
      const form = await compress(page, encoding, 'quick');
      set(etag, { [encoding]: form });
      return form;
    },
  };
}
