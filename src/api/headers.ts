/** What the response headers say, read with suspicion: nonsense counts as absent. */

export type Headers = Record<string, string | string[] | undefined>;

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
  const counts = [value ?? []]
    .flat()
    .flatMap((text) => text.split(','))
    .map((text) => text.trim());
  if (counts.length === 0 || !counts.every((text) => /^\d{1,15}$/.test(text))) return null;
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

const first = (value: string | string[] | undefined) => [value].flat()[0];
