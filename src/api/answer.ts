/** What an answer of the API means: its headers read with suspicion, its body, its line of the catalogue (specification, Errors). */

import { isUtf8 } from 'node:buffer';
import { Failure, type FailureKind } from '../errors.ts';
import { BAD_BODY, type Body, TOO_LARGE } from './call.ts';
import { type Exchange, first, type Headers } from './exchange.ts';

export type Verdict = { facts: HeaderFacts } & (
  | { fine: true; body: Body; json: unknown }
  | { fine: false; failure: Failure; again: Again; code: string | null }
);

/** Whether a failed call may be repeated: never, once, after a pause of ours, or when the governor allows. */
type Again = 'never' | 'once' | 'after-pause' | 'when-allowed';

export type HeaderFacts = {
  /** X-RateLimit-Limit and X-RateLimit-Remaining (specification, Limits), both or neither believed. */
  limit: number | null;
  remaining: number | null;
  requestId: string | null;
  /** Retry-After from now, in milliseconds, in either of its forms. */
  retryAfterMs: number | null;
  /** When the API says it answered, in epoch milliseconds, to the second; null for an answer out of a cache. */
  answeredAt: number | null;
  contentType: string;
  contentEncoding: string;
};

const LONGEST_REQUEST_ID = 128;

/** By status. */
const refusals: Record<number, [FailureKind, message: string, Again]> = {
  401: ['key', 'the API refused the key: it is malformed, expired or inactive; set a valid one', 'never'],
  403: ['key', 'the key lacks the scope for this endpoint, or may not be used from this address', 'never'],
  429: ['incomplete', 'the API limits the calls of this account; try again later', 'when-allowed'],
  503: ['incomplete', 'the API is temporarily unavailable; try again later', 'when-allowed'],
};

/** What of a request its judge needs: the endpoint's name, for messages, and how its answers are read. */
type Asked = { job: string; read?: (body: Body) => unknown };

export function judge(answer: Exchange, { job, read }: Asked, now: number): Verdict {
  const facts = readHeaders(answer.came === 'response' ? answer.headers : {}, now);
  const failed = (
    code: string | null,
    kind: FailureKind,
    message: string,
    again: Again = 'never',
  ): Verdict => {
    return { fine: false, failure: new Failure(kind, `${job}: ${message}`), again, code, facts };
  };
  if (answer.came === 'nothing') return failed(answer.code, ...silence(answer.code));
  const { status, body } = answer;
  if (status === 200) {
    const made = readBody(body, facts, read);
    return 'body' in made
      ? { fine: true, ...made, facts }
      : failed(BAD_BODY, 'contract', made.problem, 'once');
  }
  const code = readErrorCode(body);
  const [kind, message, again] = refusals[status] ?? unexpected(status);
  return failed(code, kind, code ? `${message} (${code})` : message, again);
}

/** The specification calls 503 alone transient. Other failures of a server or a gateway are repeated as a call without an answer is. */
function unexpected(status: number): [FailureKind, string, Again] {
  if (status > 200 && status < 300)
    return ['contract', `answered ${status}, which the specification does not know`, 'never'];
  const redirect = `answered with a redirect (${status}), which is never followed; check MARKET_API_URL`;
  if (status >= 300 && status < 400) return ['unreachable', redirect, 'never'];
  return status < 500
    ? ['unreachable', `answered ${status}; check MARKET_API_URL`, 'never']
    : ['unreachable', `answered ${status}; the next run tries again`, 'after-pause'];
}

const certificate = /CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|ERR_TLS|ERR_SSL/;

/** What it means that no answer came. @param code of the error, as it is recorded with the call. */
export function silence(code: string): [FailureKind, string, Again] {
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

type Made = { body: Body; json: unknown } | { problem: string };

function readBody(
  plain: Buffer | null,
  { contentType, contentEncoding }: HeaderFacts,
  read: (body: Body) => unknown = ({ text }) => JSON.parse(text()),
): Made {
  if (contentType !== 'application/json')
    return {
      problem: `an answer of type ${contentType || 'unknown'} instead of JSON${plain ? glimpse(plain) : ''}`,
    };
  if (!plain) return { problem: `an answer in the encoding ${contentEncoding} that was not asked for` };
  if (plain.length === 0) return { problem: 'an empty answer' };
  if (!isUtf8(plain)) return { problem: 'an answer that is not valid UTF-8' };
  const body = bodyOf(plain);
  try {
    return { body, json: read(body) };
  } catch {
    return { problem: `an answer that is not valid JSON${glimpse(plain)}` };
  }
}

function bodyOf(bytes: Buffer): Body {
  let text: string | undefined;
  return {
    bytes,
    text() {
      text ??= bytes.toString('utf8');
      return text;
    },
  };
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
  return {
    ...readQuota(headers),
    requestId: readRequestId(headers),
    retryAfterMs: readRetryAfter(first(headers['retry-after']), now),
    answeredAt: headers['age'] === undefined ? readHttpDate(first(headers['date'])) : null,
    contentType: (first(headers['content-type']) ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '',
    contentEncoding: (first(headers['content-encoding']) ?? 'identity').trim().toLowerCase(),
  };
}

function readQuota(headers: Headers): Pick<HeaderFacts, 'limit' | 'remaining'> {
  // An answer out of a cache tells of another call's quota.
  if (headers['age'] !== undefined) return { limit: null, remaining: null };
  const limit = smallestCount(headers['x-ratelimit-limit']);
  const remaining = smallestCount(headers['x-ratelimit-remaining']);
  const contradictory = limit !== null && remaining !== null && remaining > limit;
  return contradictory ? { limit: null, remaining: null } : { limit, remaining };
}

// Where a header is given twice with different values, the cautious one is taken.
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
