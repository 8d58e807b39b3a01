/** The one way to the API: waits for a permit for every call, sends it, records it, and repeats it within bounds. */

import Pool from 'undici/lib/dispatcher/pool.js';
import { backoffMs } from '../backoff.ts';
import { type Clock, isoTime, type Random } from '../clock.ts';
import type { Failure } from '../errors.ts';
import type { Gate, Manner } from '../governor/gate.ts';
import type { KeySource } from '../key.ts';
import { judge, type Verdict } from './answer.ts';
import type { Body, Call } from './call.ts';
import { type Exchange, exchange } from './exchange.ts';

export type ApiRequest = {
  job: string;
  walkId: number | null;
  path: string;
  query: Record<string, number>;
  /** Makes of the body what is told as `json`; throws a SyntaxError where it is none. `JSON.parse` unless given. */
  read?: (body: Body) => unknown;
};

export type ApiAnswer = { body: Body; json: unknown; call: Call };

/** What came of one call. `aheadMs`: what our clock is ahead of the API's at least; null where it does not tell. */
export type Probed = { call: Call; failure: Failure | null; aheadMs: number | null };

/** A call that was asked ahead of its turn, in the belief that its answer will be needed. */
export type Guess<Answer = ApiAnswer> = {
  /** Undefined where there was no permit for it, or no page came of it. It never rejects. */
  answer: Promise<Answer | undefined>;
  /** Whether the call has been made, or is on its way. */
  isMade(): boolean;
  /** Nobody wants it any more: where it still waits for a permit, it is not made. */
  drop(): void;
  /** To be told of each answer that came: whether it was needed. */
  settle(wasNeeded: boolean): void;
};

/** What the client needs of the governor. */
export type Permits = Pick<Gate, 'pass' | 'settle' | 'stake' | 'unstake' | 'keyChanged'>;

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
   * @param manner whether other calls of the job will follow, and who is told that this one has to wait or is repeated.
   * @throws Failure by the answer's line in the catalogue; Snooze where a permit is a long wait away;
   * the signal's reason when it is aborted.
   */
  get(request: ApiRequest, signal: AbortSignal, manner?: Manner): Promise<ApiAnswer>;
  /**
   * The same ahead of its turn, once: whoever finds that nothing came of it asks again. Undefined where the governor lets
   * none go ahead.
   */
  guess(request: ApiRequest, signal: AbortSignal, foreseen: number): Guess | undefined;
  /** One call, never repeated, and recorded whatever comes of it. @throws as `get` where there is no permit for it. */
  probe(request: ApiRequest, signal: AbortSignal): Promise<Probed>;
  close(): Promise<void>;
};

const defaultLimits = { connectMs: 10_000, headersMs: 30_000, deadlineMs: 60_000, bodyBytes: 16 * 1024 ** 2 };

/** Calls that are made of one request, the first included. */
const attempts = { never: 1, once: 2, 'after-pause': 3, 'when-allowed': 3 } as const;
/** Ends the wait of a guess; a reason of its own, since making the usual one is dear. */
const needless = new Error('nobody wants it any more');
/** Before a call that got no answer is repeated. */
const PAUSES = { firstMs: 500, longestMs: 10_000 };

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

  async function attempt(request: ApiRequest, signal: AbortSignal, manner?: Manner) {
    await pass(request, signal, manner);
    return await send(request, signal);
  }

  async function pass({ job }: ApiRequest, signal: AbortSignal, manner?: Manner): Promise<void> {
    if (key.reload()) permits.keyChanged();
    await permits.pass(job, signal, manner);
  }

  async function send(request: ApiRequest, signal: AbortSignal) {
    const url = `${request.path}${queryString(request.query)}`;
    const began = clock.now();
    const answer = await exchange(
      pool,
      base.pathname.replace(/\/$/, '') + url,
      key.current(),
      userAgent,
      limits,
      signal,
    );
    const ms = clock.now() - began;
    const verdict = judge(answer, request, clock.now());
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
    async get(request, signal, manner) {
      for (let made = 1; ; made += 1) {
        const { verdict, call } = await attempt(request, signal, manner);
        if (verdict.fine) return { body: verdict.body, json: verdict.json, call };
        record(call);
        signal.throwIfAborted();
        if (made >= attempts[verdict.again]) throw verdict.failure;
        manner?.held?.();
        // After a 429 or 503 it is the governor that knows how long to wait.
        if (verdict.again !== 'when-allowed') await clock.sleep(backoffMs(made, PAUSES, random()), signal);
      }
    },
    guess(request, signal, foreseen) {
      if (!permits.stake()) return undefined;
      const dropped = new AbortController();
      let isMade = false;
      const make = async () => {
        await pass(request, dropped.signal, { foreseen, isAhead: true });
        isMade = true;
        const { verdict, call } = await send(request, signal);
        if (verdict.fine) return { body: verdict.body, json: verdict.json, call };
        record(call);
        throw verdict.failure;
      };
      const nothing = () => {
        permits.unstake(!isMade);
        return undefined;
      };
      return {
        // Whatever went wrong is told to who asks again.
        answer: make().catch(nothing),
        isMade: () => isMade,
        drop: () => dropped.abort(needless),
        settle: (wasNeeded) => permits.unstake(wasNeeded),
      };
    },
    async probe(request, signal) {
      const { verdict, call } = await attempt(request, signal);
      record(call);
      signal.throwIfAborted();
      const failure = verdict.fine ? null : verdict.failure;
      return { call, failure, aheadMs: aheadOf(verdict.facts.answeredAt, Date.parse(call.at), call.ms) };
    },
    close: () => pool.destroy(),
  };

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
      bytes: answer.came === 'response' ? answer.bytes : 0,
      requestId: facts.requestId,
      rateLimit: facts.limit,
      rateRemaining: facts.remaining,
      errorCode: judged.fine ? null : judged.code,
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
