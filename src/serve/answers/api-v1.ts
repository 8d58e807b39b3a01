/**
 * The contract of the API, answered from the mirror: lists, and the use of the service. Of a list it is known before anything is
 * read which moment it shows, whether that is fresh enough, and whether the client has the page already. A process of the pool
 * reads the page.
 */

import { ageOf, type Clock, isTooOld } from '../../base/clock.ts';
import { Failure } from '../../base/errors.ts';
import type { ListedJob } from '../../job/list.ts';
import { filtersOf } from '../../reading/filters.ts';
import type { Moment } from '../../reading/pages.ts';
import { type Admission, accountOwner, type Caller, isRefused } from '../access/admission.ts';
import {
  type AnswerCall,
  BUSY_SECONDS,
  finished,
  type Plan,
  refusalResponse,
  UNREADY_SECONDS,
} from '../answers.ts';
import type { Call, Route } from '../http/handler.ts';
import {
  abortSignalOf,
  encodingOf,
  errorResponse,
  type HttpResponse,
  jsonResponse,
  matchesEtag,
  type Packed,
  packedHeaders,
  retryAfter,
} from '../http/response.ts';
import type { ListPage, PageQuestion, Paging } from './list-page.ts';
import type { OpenMirror, WatchedMirror } from './mirror.ts';
import type { Pool } from './pool.ts';
import { usageBody } from './usage.ts';

/** What both surfaces take. */
export type SurfaceParts = {
  dir: string;
  jobs: readonly ListedJob[];
  answerCall: AnswerCall;
  mirror: WatchedMirror;
  pool: Pick<Pool, 'take' | 'quick'>;
  /** The greatest age that is shown, in milliseconds, by job; a job that is not there has no bound. */
  maxAgeMs: Readonly<Record<string, number>>;
  clock: Pick<Clock, 'now'>;
  /** How long a page or a question may take. */
  questionMs?: number | undefined;
};

/** The start of a process counts, which takes seconds on a busy machine. */
const PAGE_MS = 10_000;

/** Responses without a page. */
const missing = {
  future: errorResponse('invalid_seq'),
  gone: errorResponse('seq_gone'),
  unread: errorResponse('service_unavailable', retryAfter(UNREADY_SECONDS)),
  unavailable: errorResponse('service_unavailable', retryAfter(BUSY_SECONDS)),
};

export function apiRoutes(parts: SurfaceParts & { admission: Admission }): Route[] {
  const { dir, admission, answerCall, mirror, pool, maxAgeMs, clock, questionMs = PAGE_MS } = parts;

  function routeOf(job: ListedJob): Route {
    const parameters = job.history === null ? [] : ['offset', 'limit', 'seq', ...Object.keys(job.filters)];
    const plan = (call: Call, caller: Caller): Plan => {
      if (![...call.query.keys()].every((name) => parameters.includes(name)))
        return finished(unknownParameter(parameters));
      if (job.history === null) return planUsage(caller);
      return (
        mirror.read((open) => planList(open, job, call, caller.account)) ?? finished(missing.unavailable)
      );
    };
    return { name: job.name, path: job.path, respond: (call) => answerCall(call, job.scope, plan) };
  }

  /** The specification does not show the shape of usage: it is ours. */
  const planUsage = (caller: Caller): Plan => ({
    calls: 1,
    read() {
      const usage = usageBody(admission, caller, clock.now());
      return isRefused(usage) ? refusalResponse(usage) : jsonResponse(200, usage);
    },
  });

  function planList(open: OpenMirror, job: ListedJob, call: Call, account: string): Plan {
    const { query, headers } = call;
    const seq = readSeq(query);
    if (seq === 'invalid') return finished(missing.future);
    const present = open.pages.momentOf(job.name);
    if (typeof present === 'string') return finished(missing.unread);
    // The age check uses the latest proof even when `seq` pins an older moment.
    if (isTooOld(ageOfProof(present, clock.now()), maxAgeMs[job.name])) return finished(missing.unread);
    const moment = seq === undefined ? present : open.pages.momentOf(job.name, seq);
    if (typeof moment === 'string') return finished(missing[moment]);
    const { schemas, about, ...paged } = job;
    const filters = filtersOf(job, (name) => query.get(name));
    const page = { job: paged, moment, paging: readPaging(query), filters };
    const etag = etagOf(open, page);
    const listHeaders = freshnessHeaders(moment, etag, clock.now());
    if (matchesEtag(headers['if-none-match'], etag))
      return finished({ status: 304, headers: listHeaders, body: null });
    return {
      calls: 1,
      async read() {
        const body = await readPage(page, call, account);
        if (typeof body === 'string') return missing[body];
        const all = { 'Content-Type': 'application/json', ...listHeaders, ...packedHeaders(body) };
        return { status: 200, headers: all, body: body.bytes };
      },
    };
  }

  /**
   * @returns the bytes; `gone` where the moment was forgotten meanwhile, `unavailable` where the mirror cannot be read now, or
   * too many others are filtering.
   */
  async function readPage(page: ListPage, call: Call, account: string) {
    try {
      return (
        (await ask({ dir, page, encoding: encodingOf(call.headers['accept-encoding']) }, call, account)) ??
        'gone'
      );
    } catch (thrown) {
      if (!(thrown instanceof Failure) || thrown.kind === 'bug') throw thrown;
      if (thrown.kind !== 'incomplete') mirror.report(thrown);
      return 'unavailable';
    }
  }

  /** What searches all rows is a question. */
  async function ask(question: PageQuestion, call: Call, account: string) {
    if (!question.page.filters) return await pool.quick<PageQuestion, Packed | null>(question, questionMs);
    const signal = abortSignalOf(call);
    const loan = await pool.take(accountOwner(account), signal);
    if (!loan) return 'unavailable';
    const bounds = { signal, timeoutMs: questionMs };
    return await loan.queries.send<PageQuestion, Packed | null>(question, bounds).finally(loan.giveBack);
  }

  return parts.jobs.map(routeOf);
}

/** A name that is not there may be a slip, such as of a filter, which would leave every row. */
const unknownParameter = (known: readonly string[]): HttpResponse =>
  jsonResponse(400, {
    error: 'unknown_parameter',
    message:
      known.length === 0
        ? 'This endpoint has no parameters.'
        : `There is no such parameter. There are ${known.join(', ')}.`,
  });

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

/** Weak, since the same page may come compressed; the same for every key. */
function etagOf({ name }: OpenMirror, { moment, paging, filters }: ListPage): string {
  const { job, seq, volatileSeq } = moment;
  const { offset, limit } = paging;
  return `W/"${[name, job, seq, volatileSeq ?? '', offset, limit, filters?.key ?? ''].join('.')}"`;
}
