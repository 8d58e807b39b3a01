/** What a response of the API means: its headers, its body, its line of the catalogue (specification, Errors). */

import { isUtf8 } from 'node:buffer';
import { Failure, type FailureKind } from '../errors.ts';

/** One call as it is recorded: `at` in ISO 8601 UTC, `url` without the origin, nothing secret. */
export type Call = {
  at: string;
  job: string;
  walkId: number | null;
  url: string;
  /** Null where no response came. */
  status: number | null;
  ms: number;
  bytes: number;
  requestId: string | null;
  rateLimit: number | null;
  rateRemaining: number | null;
  errorCode: string | null;
};

/** Codes of calls: a body that cannot be read; an error that was told with status 200; stopped by us; a response too large for undici. */
export const BAD_BODY = 'bad_body';
export const TOLD_ERROR = 'told_error';
export const STOPPED = 'STOPPED';
export const TOO_LARGE = 'UND_ERR_RES_EXCEEDED_MAX_SIZE';

/** A body of valid UTF-8. Making its text takes a hundred times as long as comparing its bytes. */
export type Body = { bytes: Buffer; text(): string };

export type Headers = Record<string, string | string[] | undefined>;

/** What came over the wire. */
export type RawResponse = {
  /** Null where no response came; then `code` is the code or name of the error. */
  status: number | null;
  code: string | null;
  headers: Headers;
  /** As received. */
  bytes: number;
  /** Unpacked; null where none came, or one in an unknown encoding. */
  body: Buffer | null;
};

export type JudgedResponse = { status: number | null; bytes: number; facts: HeaderFacts } & (
  | { fine: true; body: Body; json: unknown; code: null }
  | { fine: false; failure: Failure; repeat: Repeat; code: string | null }
);

/** Whether a failed request may be repeated: never, once, after a pause of ours, or when the governor allows. */
type Repeat = 'never' | 'once' | 'after-pause' | 'when-allowed';

/** What is said of a request that failed. */
type Judgement = [FailureKind, message: string, Repeat];

/** What the API says of an error. `code`: null where it is no machine-readable one. */
export type ToldError = { code: string | null; message: string };

/** A request that brought no page: its status, null where no response came, and its code as it is recorded. */
export class RequestFailure extends Failure {
  readonly status: number | null;
  readonly code: string | null;

  constructor(kind: FailureKind, message: string, status: number | null, code: string | null) {
    super(kind, message);
    this.status = status;
    this.code = code;
  }
}

type HeaderFacts = {
  /** X-RateLimit-Limit and X-RateLimit-Remaining (specification, Limits); both null where they contradict each other. */
  limit: number | null;
  remaining: number | null;
  requestId: string | null;
  /** Retry-After from now, in milliseconds, in either of its forms. */
  retryAfterMs: number | null;
  /** The response's date in epoch milliseconds, to the second; null for a cached response. */
  respondedAt: number | null;
  contentType: string;
  contentEncoding: string;
};

const LONGEST_REQUEST_ID = 128;

const refusals: Record<number, Judgement> = {
  401: ['key', 'the API refused the key: it is malformed, expired or inactive; set a valid one', 'never'],
  403: ['key', 'the key lacks the scope for this endpoint, or may not be used from this address', 'never'],
  429: ['incomplete', 'the API limits the calls of this account; try again later', 'when-allowed'],
  503: ['incomplete', 'the API is temporarily unavailable; try again later', 'when-allowed'],
};

/** @param request names the endpoint in messages, and reads the body. */
export function judge(
  { status, code: lossCode, headers, bytes, body }: RawResponse,
  { job, findError }: { job: string; findError?: ((json: unknown) => ToldError | undefined) | undefined },
  now: number,
): JudgedResponse {
  const facts = readHeaders(headers, now);
  const failed = (code: string | null, [kind, message, repeat]: Judgement): JudgedResponse => {
    const failure = new RequestFailure(kind, `${job}: ${message}`, status, code);
    return { fine: false, status, bytes, facts, failure, repeat, code };
  };
  if (status === null) return failed(lossCode, silence(lossCode ?? ''));
  if (status === 200) {
    const result = readBody(body, facts);
    if ('problem' in result) return failed(BAD_BODY, ['contract', result.problem, 'once']);
    const told = findError?.(result.json);
    if (!told) return { fine: true, status, bytes, facts, ...result, code: null };
    const what = `the API answered with status 200, and an error: ${told.message}; nothing of it is stored`;
    return failed(told.code ?? TOLD_ERROR, ['contract', what, 'never']);
  }
  const code = readErrorCode(body);
  const [kind, message, repeat] = refusals[status] ?? unexpected(status);
  return failed(code, [kind, code ? `${message} (${code})` : message, repeat]);
}

/** The specification calls 503 alone transient. Other 5xx are repeated as a lost request is. */
function unexpected(status: number): Judgement {
  if (status > 200 && status < 300)
    return ['contract', `answered ${status}, which the specification does not know`, 'never'];
  const redirect = `answered with a redirect (${status}), which is never followed; check MARKET_API_URL`;
  if (status >= 300 && status < 400) return ['unreachable', redirect, 'never'];
  return status < 500
    ? ['unreachable', `answered ${status}; check MARKET_API_URL`, 'never']
    : ['unreachable', `answered ${status}; the next run tries again`, 'after-pause'];
}

const certificate = /CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|ERR_TLS|ERR_SSL/;

/** Why no response came. @param code of the error, as recorded with the call. */
export function silence(code: string): Judgement {
  if (certificate.test(code))
    return ['unreachable', `the API's certificate is not trusted (${code}); it is never bypassed`, 'never'];
  if (code === TOO_LARGE) return ['contract', 'an answer larger than any page may be', 'never'];
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return ['unreachable', 'an answer with oversized headers', 'never'];
  const message = `the API cannot be reached or does not answer (${code}); check the network and MARKET_API_URL`;
  return ['unreachable', message, 'after-pause'];
}

/** The machine-readable code of an Error body, where there is one that looks like a code. */
function readErrorCode(body: Buffer | null): string | null {
  try {
    const { error } = JSON.parse(body?.toString('utf8') ?? '') as { error?: unknown };
    return typeof error === 'string' && /^[\w.:-]{1,64}$/.test(error) ? error : null;
  } catch {
    return null;
  }
}

function readBody(
  plain: Buffer | null,
  { contentType, contentEncoding }: HeaderFacts,
): { body: Body; json: unknown } | { problem: string } {
  if (contentType !== 'application/json')
    return {
      problem: `an answer of type ${contentType || 'unknown'} instead of JSON${plain ? glimpse(plain) : ''}`,
    };
  if (!plain) return { problem: `an answer in the encoding ${contentEncoding} that was not asked for` };
  if (plain.length === 0) return { problem: 'an empty answer' };
  if (!isUtf8(plain)) return { problem: 'an answer that is not valid UTF-8' };
  let text: string | undefined;
  const body: Body = {
    bytes: plain,
    text() {
      text ??= plain.toString('utf8');
      return text;
    },
  };
  try {
    return { body, json: JSON.parse(body.text()) };
  } catch {
    return { problem: `an answer that is not valid JSON${glimpse(plain)}` };
  }
}

function glimpse(bytes: Buffer): string {
  const start = bytes
    .subarray(0, 200)
    .toString('latin1')
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim();
  return start ? `, beginning with: ${start}` : '';
}

export function readHeaders(headers: Headers, now: number): HeaderFacts {
  // A cached response has the quota and the date of another call.
  const isCached = headers['age'] !== undefined;
  return {
    ...(isCached ? { limit: null, remaining: null } : readQuota(headers)),
    requestId: readRequestId(headers),
    retryAfterMs: readRetryAfter(first(headers['retry-after']), now),
    respondedAt: isCached ? null : readHttpDate(first(headers['date'])),
    contentType: (first(headers['content-type']) ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '',
    contentEncoding: (first(headers['content-encoding']) ?? 'identity').trim().toLowerCase(),
  };
}

/** The value of a header; the first one where it is given twice. */
export const first = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value);

function readQuota(headers: Headers): Pick<HeaderFacts, 'limit' | 'remaining'> {
  const limit = smallestCount(headers['x-ratelimit-limit']);
  const remaining = smallestCount(headers['x-ratelimit-remaining']);
  const contradictory = limit !== null && remaining !== null && remaining > limit;
  return contradictory ? { limit: null, remaining: null } : { limit, remaining };
}

/** Of a header that is given twice, the smaller value counts. */
function smallestCount(value: string | string[] | undefined): number | null {
  if (value === undefined) return null;
  const counts = [value]
    .flat()
    .flatMap((text) => text.split(','))
    .map((text) => text.trim());
  if (!counts.every((text) => /^\d{1,15}$/.test(text))) return null;
  return Math.min(...counts.map(Number));
}

function readRequestId(headers: Headers): string | null {
  const printable = first(headers['x-request-id'])?.replace(/[^\x21-\x7e]/g, '');
  return printable ? printable.slice(0, LONGEST_REQUEST_ID) : null;
}

function readRetryAfter(text: string | undefined, now: number): number | null {
  const given = text?.trim() ?? '';
  if (/^\d{1,10}$/.test(given)) return Number(given) * 1_000;
  const at = readHttpDate(given);
  return at === null ? null : Math.max(0, at - now);
}

function readHttpDate(text = ''): number | null {
  // Only the forms of an HTTP date begin with a weekday; Date.parse alone would take almost anything.
  const at = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}
