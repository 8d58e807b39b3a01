/** The one way to the API: asks leave for every call, sends it, records it, and repeats it within bounds. */

import { Pool } from 'undici';
import { type Clock, isoTime, type Random } from '../clock.ts';
import { Failure } from '../errors.ts';
import type { KeySource } from '../key.ts';
import type { Call } from '../page.ts';
import { backoffMs } from './backoff.ts';
import { type Exchange, exchange } from './exchange.ts';
import { type Judgement, judge } from './judge.ts';

export type ApiRequest = {
  job: string;
  walkId: number | null;
  path: string;
  query: Record<string, number>;
};

export type ApiAnswer = { text: string; json: unknown; call: Call };

/** What came of one call. `aheadMs`: what our clock is ahead of the API's at least; null where it does not tell. */
export type Probed = { call: Call; failure: Failure | null; aheadMs: number | null };

/** What the client needs of the governor. */
export type Leave = {
  pass(job: string, signal: AbortSignal): Promise<void>;
  settle(
    job: string,
    answer: {
      status: number | null;
      limit: number | null;
      remaining: number | null;
      retryAfterMs: number | null;
      latencyMs: number;
      stopped: boolean;
    },
  ): void;
  keyChanged(): void;
};

export type ApiParts = {
  /** Base address without a slash at its end. */
  baseUrl: string;
  key: KeySource;
  leave: Leave;
  /** Keeps the record of a call that brought no page; the record of one that did travels with its answer. */
  record(call: Call): void;
  clock: Clock;
  random: Random;
  userAgent: string;
  limits?: Partial<typeof defaultLimits>;
};

export type Api = {
  /**
   * @throws Failure by the answer's line in the catalogue; Snooze where leave is a long wait away;
   * the signal's reason when it is aborted.
   */
  get(request: ApiRequest, signal: AbortSignal): Promise<ApiAnswer>;
  /** One call, never repeated, and recorded whatever comes of it. @throws as `get` where there is no leave for it. */
  probe(request: ApiRequest, signal: AbortSignal): Promise<Probed>;
  close(): Promise<void>;
};

const defaultLimits = { connectMs: 10_000, headersMs: 30_000, deadlineMs: 60_000, bodyBytes: 16 * 1024 ** 2 };

const MOST_ATTEMPTS = 3;

export function createApi(parts: ApiParts): Api {
  const { key, leave, clock, random, record, userAgent } = parts;
  const limits = { ...defaultLimits, ...parts.limits };
  const base = new URL(parts.baseUrl);
  const pool = new Pool(base.origin, {
    connect: { timeout: limits.connectMs },
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.headersMs,
    keepAliveTimeout: 30_000,
    maxResponseSize: limits.bodyBytes,
  });

  async function attempt(request: ApiRequest, signal: AbortSignal) {
    const url = `${request.path}${queryString(request.query)}`;
    if (key.reload()) leave.keyChanged();
    await leave.pass(request.job, signal);
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
    const judgement = judge(answer, request.job, limits.bodyBytes, clock.now());
    const call = describe(request, url, isoTime(began), ms, answer, judgement);
    leave.settle(request.job, {
      status: call.status,
      limit: call.rateLimit,
      remaining: call.rateRemaining,
      retryAfterMs: judgement.facts.retryAfterMs,
      latencyMs: ms,
      stopped: signal.aborted,
    });
    return { judgement, call };
  }

  return {
    async get(request, signal) {
      for (let made = 1; ; made += 1) {
        const { judgement, call } = await attempt(request, signal);
        if (judgement.fine) return { text: judgement.text, json: judgement.json, call };
        record(call);
        signal.throwIfAborted();
        const most = { never: 1, once: 2, 'after-pause': MOST_ATTEMPTS, 'when-allowed': MOST_ATTEMPTS };
        if (made >= most[judgement.again]) throw told(judgement.failure);
        // After a 429 or 503 it is the governor that knows how long to wait.
        if (judgement.again !== 'when-allowed') await clock.sleep(backoffMs(made, random()), signal);
      }
    },
    async probe(request, signal) {
      const { judgement, call } = await attempt(request, signal);
      record(call);
      signal.throwIfAborted();
      const failure = judgement.fine ? null : told(judgement.failure);
      return { call, failure, aheadMs: aheadOf(judgement.facts.answeredAt, Date.parse(call.at), call.ms) };
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
    { facts, ...judged }: Judgement,
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
