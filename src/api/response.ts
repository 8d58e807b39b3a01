/** What a response of the API means: its headers, its body, its line of the catalogue (specification, Errors). */

import { isUtf8 } from 'node:buffer';
import { DAY_MS } from '../base/clock.ts';
import { Failure, type FailureKind } from '../base/errors.ts';
import { printable } from '../base/printable.ts';
import type { Unpacked } from './encoding.ts';

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

/**
 * Codes of calls: a body that cannot be read; one that is not what the contract says; an error in a body with status 200; stopped by us; a
 * response too large for undici.
 */
export const BAD_BODY = 'bad_body';
export const BROKEN_CONTRACT = 'broken_contract';
export const ERROR_IN_BODY = 'error_in_body';
export const STOPPED = 'STOPPED';
export const TOO_LARGE = 'UND_ERR_RES_EXCEEDED_MAX_SIZE';

/** Before the code of what is wrong: the response is no HTTP, or breaks off; the proxy on the way to the API lets no call through. */
export const BROKEN = 'BROKEN: ';
export const PROXY = 'PROXY: ';

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
  /** Unpacked, without a byte order mark; null where none came. */
  body: Buffer | null;
  trouble: Unpacked['trouble'];
};

export type JudgedResponse = { status: number | null; bytes: number; facts: HeaderFacts } & (
  | { fine: true; body: Body; json: unknown; code: null }
  | { fine: false; failure: Failure; repeat: Repeat; code: string | null; meaning: Meaning }
);

/**
 * What a response means that its status does not say: a limit was met, as by a 429; or something between us and the API gave it, such as
 * a firewall.
 */
type Meaning = 'limit' | 'blocked' | null;

/** Whether a failed request may be repeated: never, once, after a pause of ours, or when the governor allows. */
type Repeat = 'never' | 'once' | 'after-pause' | 'when-allowed';

/** What is said of a request that failed. */
type Judgement = [FailureKind, message: string, Repeat, Meaning?];

/** An error in a body with status 200. `code`: null where it is no machine-readable one. */
export type BodyError = { code: string | null; message: string };

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
  /** Retry-After from now, in milliseconds, in any of its forms; null where it is no time ahead. */
  retryAfterMs: number | null;
  /** The response's date in epoch milliseconds, to the second; null for a cached response. */
  respondedAt: number | null;
  contentType: string;
};

const LONGEST_REQUEST_ID = 128;

const refusals: Record<number, Judgement> = {
  401: ['key', 'the API refused the key: it is malformed, expired or inactive; set a valid one', 'never'],
  403: ['key', 'the key lacks the scope for this endpoint, or may not be used from this address', 'never'],
  408: ['incomplete', 'the API gave up waiting for the request (408); try again later', 'when-allowed'],
  425: ['incomplete', 'the API does not take the request yet (425); try again later', 'when-allowed'],
  429: ['incomplete', 'the API limits the calls of this account; try again later', 'when-allowed'],
  503: ['incomplete', 'the API is temporarily unavailable; try again later', 'when-allowed'],
};

type JudgedRequest = {
  /** Named in messages. */
  job: string;
  query: Record<string, number>;
  findError?: ((json: unknown) => BodyError | undefined) | undefined;
  /** Takes the key out of a text: what JSON spells with escapes is known only when it is parsed. */
  hide: (text: string) => string;
};

export function judge(raw: RawResponse, request: JudgedRequest, now: number): JudgedResponse {
  const { status, bytes } = raw;
  const facts = readHeaders(raw.headers, now);
  const failed = (
    code: string | null,
    [kind, message, repeat, meaning = null]: Judgement,
  ): JudgedResponse => {
    const failure = new RequestFailure(kind, `${request.job}: ${message}`, status, code);
    return { fine: false, status, bytes, facts, failure, repeat, code, meaning };
  };
  if (status === null) return failed(raw.code, silence(raw.code ?? ''));
  if (status === 200) {
    const result = readBody(raw, facts);
    if ('problem' in result) return failed(BAD_BODY, ['contract', result.problem, result.repeat]);
    const error = request.findError?.(result.json);
    if (!error) return { fine: true, status, bytes, facts, ...result, code: null };
    return failed(
      error.code === null ? ERROR_IN_BODY : request.hide(error.code),
      refusalInBody(error, request.hide),
    );
  }
  const error = readError(parseOrNothing(raw.body), request.hide);
  return failed(error.code, refusal(status, error, (request.query['offset'] ?? 0) === 0));
}

/** @param isFirst whether nothing was skipped: a wrong address is noticed there. */
function refusal(status: number, error: ErrorBody, isFirst: boolean): Judgement {
  // The API itself says with an Error body what the key may not do (specification, Authentication).
  if (status === 403 && !error.isSpecified) return blocked(error);
  const isLimit = status === 403 && speaksOfLimit(error.error);
  const known = refusals[isLimit ? 429 : status];
  if (!known) return unexpected(status, error, isFirst);
  const [kind, message, repeat] = known;
  return [kind, message + error.quote, repeat, isLimit ? 'limit' : null];
}

/** An error with status 200 is an error. */
function refusalInBody({ code, message }: BodyError, hide: (text: string) => string): Judgement {
  const quote = shortened(hide(message));
  if (code !== null && speaksOfLimit(code)) {
    const [kind, limit, repeat] = refusals[429] as Judgement;
    return [kind, `${limit} (${quote})`, repeat, 'limit'];
  }
  return [
    'contract',
    `the API answered with status 200, and an error: ${quote}; nothing of it is stored`,
    'never',
  ];
}

function blocked({ quote }: ErrorBody): Judgement {
  const what = `something between us and the API (a firewall or proxy) answered 403${quote}`;
  const message = `${what}; it is tried again in a minute, then less and less often`;
  return ['incomplete', message, 'when-allowed', 'blocked'];
}

/** The specification calls 503 alone transient. Other 5xx are repeated as a lost request is. */
function unexpected(status: number, { quote, isSpecified }: ErrorBody, isFirst: boolean): Judgement {
  if (status > 200 && status < 300)
    return ['contract', `answered ${status}, which the specification does not know`, 'never'];
  const redirect = `answered with a redirect (${status}), which is never followed; check MARKET_API_URL`;
  if (status >= 300 && status < 400) return ['unreachable', redirect, 'never'];
  const isWrongAddress = isFirst && status < 500 && (!isSpecified || status === 404);
  const advice = isWrongAddress ? 'check MARKET_API_URL' : 'the next run tries again';
  return ['unreachable', `answered ${status}${quote}; ${advice}`, status < 500 ? 'never' : 'after-pause'];
}

/** Why no whole response came, and what helps. `code` without what stands before it. */
export type Loss = { what: string; code: string; advice: string; repeat: Repeat };

const certificate = /CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|ERR_TLS/;

/** @param code of the error, as recorded with the call. */
export function lossOf(code: string): Loss {
  if (code.startsWith(PROXY)) return lossAtProxy(code.slice(PROXY.length));
  if (code.startsWith(BROKEN))
    return {
      what: 'the API answers badly',
      code: code.slice(BROKEN.length),
      advice: 'ask the provider if that stays so',
      repeat: 'after-pause',
    };
  if (/^(ERR_SSL_|EPROTO$)/.test(code))
    return {
      what: 'no TLS connection to the API can be made',
      code,
      advice: 'check MARKET_API_URL',
      repeat: 'never',
    };
  if (certificate.test(code))
    return {
      what: "the API's certificate is not trusted",
      code,
      advice: 'it is never bypassed; NODE_EXTRA_CA_CERTS names a file with an authority of yours',
      repeat: 'never',
    };
  return {
    what: 'the API cannot be reached or does not answer',
    code,
    advice: 'check the network and MARKET_API_URL',
    repeat: 'after-pause',
  };
}

/** @param code a status, or the code of an error. */
function lossAtProxy(code: string): Loss {
  const own = (what: string, advice: string, repeat: Repeat): Loss => ({ what, code, advice, repeat });
  if (code === '407')
    return own(
      'the proxy of HTTPS_PROXY wants a user name and a password',
      'put valid ones into HTTPS_PROXY',
      'never',
    );
  if (/^[1-4]\d\d$/.test(code))
    return own(
      'the proxy of HTTPS_PROXY lets no call to the API through',
      'ask who runs it, or name the API in NO_PROXY',
      'never',
    );
  if (/^5\d\d$/.test(code))
    return own(
      'the proxy of HTTPS_PROXY does not reach the API',
      'check MARKET_API_URL, and ask who runs the proxy',
      'after-pause',
    );
  return certificate.test(code)
    ? own(
        'the certificate of the proxy of HTTPS_PROXY is not trusted',
        'NODE_EXTRA_CA_CERTS names a file with an authority of yours',
        'never',
      )
    : own(
        'the proxy of HTTPS_PROXY cannot be reached or does not answer',
        'check HTTPS_PROXY',
        'after-pause',
      );
}

/** What is said of a call without a whole response. @param recorded its code. */
export function silence(recorded: string): Judgement {
  if (recorded === TOO_LARGE) return ['contract', 'an answer larger than any page may be', 'never'];
  const { what, code, advice, repeat } = lossOf(recorded);
  return ['unreachable', `${what} (${code}); ${advice}`, repeat];
}

/** What an error of the API says. */
export type ErrorBody = {
  /** Whether it is the Error body of the specification: `error` and `message`, both texts, nothing else. */
  isSpecified: boolean;
  /** The text of `error`; empty where there is none. */
  error: string;
  /** The same where it looks like a code. */
  code: string | null;
  /** What it says, for people: in brackets behind a space, on one line, bounded; or empty. */
  quote: string;
};

/** @param json the parsed body; undefined where it is no JSON. @param hide takes the key out of a text. */
export function readError(json: unknown, hide: (text: string) => string): ErrorBody {
  const { error, message, ...others }: Record<string, unknown> =
    typeof json === 'object' && json !== null ? { ...json } : {};
  const isSpecified =
    typeof error === 'string' && typeof message === 'string' && Object.keys(others).length === 0;
  const texts = [error, message].filter((text) => typeof text === 'string' && text.trim() !== '') as string[];
  const said = texts.length > 0 || json === undefined || json === null ? texts : jsonOf(json);
  return {
    isSpecified,
    error: typeof error === 'string' ? error : '',
    code: typeof error === 'string' && /^[\w.:-]{1,64}$/.test(error) ? hide(error) : null,
    quote: said.length === 0 ? '' : ` (${said.map((text) => shortened(hide(text))).join(': ')})`,
  };
}

/** None where it is nested too deep to be written. */
function jsonOf(json: unknown): string[] {
  try {
    return [JSON.stringify(json)];
  } catch {
    return [];
  }
}

function parseOrNothing(body: Buffer | null): unknown {
  try {
    return JSON.parse(body?.toString('utf8') ?? '');
  } catch {
    return undefined;
  }
}

/** Of each text of the API that a message quotes. */
const LONGEST_QUOTE = 200;

function shortened(text: string): string {
  // The rest of a body of megabytes is not worth the time.
  const line = printable(
    text
      .slice(0, 10 * LONGEST_QUOTE)
      .replace(/\s+/g, ' ')
      .trim(),
  );
  return line.length <= LONGEST_QUOTE ? line : `${line.slice(0, LONGEST_QUOTE)}…`;
}

/** In a word of a code in small letters; not in `unlimited`, `delimiter`, `quotation`, `corporate`. */
const ofLimit = /^rates?$|(?<!un|de|il)limit|quota(?!tion|ble)|throttl/;

/**
 * Whether the `error` of an Error body says that a limit was met: one of its words is of a rate, a limit, a quota or throttling, as in
 * `RATE_LIMITED`, `rateLimitExceeded`, `over quota`.
 */
export function speaksOfLimit(error: string): boolean {
  const words = error.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? [];
  return words.some((word) => ofLimit.test(word.toLowerCase()));
}

function readBody(
  { body: plain, trouble }: RawResponse,
  { contentType }: HeaderFacts,
): { body: Body; json: unknown } | { problem: string; repeat: Repeat } {
  const once = (problem: string) => ({ problem, repeat: 'once' as const });
  const isPlain = plain !== null && trouble === null;
  if (contentType !== 'application/json')
    return once(
      `an answer of type ${contentType || 'unknown'} instead of JSON${isPlain ? glimpse(plain) : ''}`,
    );
  if (!plain || plain.length === 0) return once('an empty answer');
  const unreadable = trouble && {
    problem: trouble.isDamaged
      ? `the API answers badly (its ${trouble.name} is cut or damaged); the next run tries again`
      : `an answer in the encoding ${shortened(trouble.name)} that was not asked for`,
    repeat: trouble.isDamaged ? ('after-pause' as const) : ('once' as const),
  };
  if (!isUtf8(plain)) return unreadable ?? once('an answer that is not valid UTF-8');
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
    return unreadable ?? once(`an answer that is not valid JSON${glimpse(plain)}`);
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
    retryAfterMs: readRetryAfter(listed(headers['retry-after']), now),
    respondedAt: isCached ? null : readHttpDate(first(headers['date'])),
    contentType: (first(headers['content-type']) ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '',
  };
}

/** The value of a header; the first one where it is given twice. */
const first = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value);

/** The values of a header as one list, however often it is given (RFC 9110, 5.3). */
export const listed = (value: string | string[] | undefined) => [value ?? []].flat().join(', ');

function readQuota(headers: Headers): Pick<HeaderFacts, 'limit' | 'remaining'> {
  const limit = smallestCount(headers['x-ratelimit-limit']);
  const remaining = smallestCount(headers['x-ratelimit-remaining']);
  // Of a limit of no calls there is no call: it mostly means that there is none.
  const contradictory = limit === 0 || (limit !== null && remaining !== null && remaining > limit);
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

/** An entry of a list; the comma behind the day of the week is part of a date. */
const LIST_ENTRY = /(?:\s*(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,)?[^,]+/g;
/** Numbers from here on are no seconds to wait, which would be thirty years, but Unix times. */
const EARLIEST_UNIX_SECONDS = 1e9;
/** Unix times further from now are nonsense. */
const NEAR_MS = 365 * DAY_MS;
/** Numbers of more digits are neither. */
const MOST_SECONDS = 1e10;

/** Seconds, a date or a Unix time; of several the latest. Servers send all of that, and lists of it. */
function readRetryAfter(text: string, now: number): number | null {
  const waits = (text.match(LIST_ENTRY) ?? []).map((entry) => readWait(entry.trim(), now));
  const longest = Math.max(...waits);
  return longest > 0 ? longest : null;
}

/** Milliseconds from now; not above 0 where the text is no time ahead. */
function readWait(text: string, now: number): number {
  if (!/^\d+(\.\d*)?$/.test(text)) return (readHttpDate(text) ?? now) - now;
  const number = Number(text);
  if (number < EARLIEST_UNIX_SECONDS) return number * 1_000;
  const unixTime = [number * 1_000, number].find((at) => Math.abs(at - now) < NEAR_MS);
  if (unixTime !== undefined) return unixTime - now;
  return number < MOST_SECONDS ? number * 1_000 : 0;
}

function readHttpDate(text = ''): number | null {
  // Only the forms of an HTTP date begin with a weekday; Date.parse alone would take almost anything.
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return null;
  // That of asctime names no zone.
  const at = Date.parse(/ \d{4}$/.test(text) ? `${text} GMT` : text);
  return Number.isNaN(at) ? null : at;
}
