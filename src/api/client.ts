/** The one way to the API: waits for a permit for every call, sends it, records it, and repeats it within bounds. */

import { Pool } from 'undici';
import { type Clock, isoTime, type Random } from '../clock.ts';
import { Failure } from '../errors.ts';
import type { Gate } from '../governor/gate.ts';
import type { KeySource } from '../key.ts';
import type { Call } from '../page.ts';
import { judge, type Verdict } from './answer.ts';
import { type Exchange, exchange } from './exchange.ts';

export type ApiRequest = {
  job: string;
  walkId: number | null;
  path: string;
  query: Record<string, number>;
  /** Makes of the text what is told as `json`; throws a SyntaxError where it is none. `JSON.parse` unless given. */
  read?: (text: string) => unknown;
};

export type ApiAnswer = { text: string; json: unknown; call: Call };

/** What came of one call. `aheadMs`: what our clock is ahead of the API's at least; null where it does not tell. */
export type Probed = { call: Call; failure: Failure | null; aheadMs: number | null };

/** What the client needs of the governor. */
export type Permits = Pick<Gate, 'pass' | 'settle' | 'keyChanged'>;

export type ApiParts = {
  /** Base address without a slash at its end. */
  baseUrl: string;
  key: KeySource;
  permits: Permits;
  /** Keeps the record of a call that brought no page; the record of one that did travels with its answer. */
  record(call: Call): void;
  clock: Clock;
  random: Random;
  userAgent: string;
  limits?: Partial<typeof defaultLimits>;
};

export type Api = {
  /**
   * @param held called before the call has to wait for leave, or is repeated.
   * @throws Failure by the answer's line in the catalogue; Snooze where a permit is a long wait away;
   * the signal's reason when it is aborted.
   */
  get(request: ApiRequest, signal: AbortSignal, held?: () => void): Promise<ApiAnswer>;
  /** One call, never repeated, and recorded whatever comes of it. @throws as `get` where there is no permit for it. */
  probe(request: ApiRequest, signal: AbortSignal): Promise<Probed>;
  close(): Promise<void>;
};

const defaultLimits = { connectMs: 10_000, headersMs: 30_000, deadlineMs: 60_000, bodyBytes: 16 * 1024 ** 2 };

/** Calls that are made of one request, the first included. */
const attempts = { never: 1, once: 2, 'after-pause': 3, 'when-allowed': 3 } as const;
/** Before a call that got no answer is repeated. */
const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 10_000;

export function createApi(parts: ApiParts): Api {
  const { key, permits, clock, random, record, userAgent } = parts;
  const limits = { ...defaultLimits, ...parts.limits };
  const base = new URL(parts.baseUrl);
  const pool = new Pool(base.origin, {
    connect: { timeout: limits.connectMs },
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.headersMs,
    keepAliveTimeout: 30_000,
    maxResponseSize: limits.bodyBytes,
  });

  async function attempt(request: ApiRequest, signal: AbortSignal, held?: () => void) {
    const url = `${request.path}${queryString(request.query)}`;
    if (key.reload()) permits.keyChanged();
    await permits.pass(request.job, signal, held);
    const began = clock.now();
    const answer = await exchange(
      pool,
      base.pathname.replace(/\/$/, '') + url,
      key.current(),
      userAgent,
      limits.deadlineMs,
      signal,
    );
    const ms = clock.now() - began;
    const verdict = judge(answer, request, limits.bodyBytes, clock.now());
    const call = describe(request, url, isoTime(began), ms, answer, verdict);
    permits.settle(request.job, {
      status: call.status,
      limit: call.rateLimit,
      remaining: call.rateRemaining,
      retryAfterMs: verdict.facts.retryAfterMs,
      latencyMs: ms,
      stopped: signal.aborted,
    });
    return { verdict, call };
  }

  return {
    async get(request, signal, held) {
      for (let made = 1; ; made += 1) {
        const { verdict, call } = await attempt(request, signal, held);
        if (verdict.fine) return { text: verdict.text, json: verdict.json, call };
        record(call);
        signal.throwIfAborted();
        if (made >= attempts[verdict.again]) throw told(verdict.failure);
        held?.();
        // After a 429 or 503 it is the governor that knows how long to wait.
        if (verdict.again !== 'when-allowed') await clock.sleep(backoffMs(made, random()), signal);
      }
    },
    async probe(request, signal) {
      const { verdict, call } = await attempt(request, signal);
      record(call);
      signal.throwIfAborted();
      const failure = verdict.fine ? null : told(verdict.failure);
      return { call, failure, aheadMs: aheadOf(verdict.facts.answeredAt, Date.parse(call.at), call.ms) };
    },
    close: () => pool.destroy(),
  };

  function told({ kind, message }: Failure): Failure {
    return new Failure(kind, hidden(message));
  }

  // What came back may quote what was sent.
  function hidden(text: string): string {
    return text.replaceAll(key.current().reveal(), '[redacted]');
  }

  function describe(
    request: ApiRequest,
    url: string,
    at: string,
    ms: number,
    answer: Exchange,
    { facts, ...judged }: Verdict,
  ): Call {
    return {
      at,
      job: request.job,
      walkId: request.walkId,
      url,
      status: answer.came === 'response' ? answer.status : null,
      ms: Math.round(ms),
      bytes: answer.came === 'response' ? answer.body.length : 0,
      requestId: facts.requestId && hidden(facts.requestId),
      rateLimit: facts.limit,
      rateRemaining: facts.remaining,
      errorCode: judged.fine || !judged.code ? null : hidden(judged.code),
    };
  }
}

/** The answer was made within the second that its date names, and while we waited for it. */
function aheadOf(answeredAt: number | null, began: number, ms: number): number | null {
  if (answeredAt === null) return null;
  const least = began - (answeredAt + 1_000);
  const most = began + ms - answeredAt;
  return least > 0 ? least : Math.min(0, most);
}

function queryString(query: Record<string, number>): string {
  const text = Object.entries(query)
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  return text && `?${text}`;
}

/** Exponential with full jitter: between a quarter and all of the step. `roll` is a random number in [0, 1). */
export function backoffMs(attempt: number, roll: number): number {
  const step = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempt - 1));
  return step * (0.25 + 0.75 * roll);
}
