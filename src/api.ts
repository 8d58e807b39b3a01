/** The one way to the API: waits for a permit for every request, sends it, records it, and repeats it within bounds. */

import { openConnections, type TunnelProxy } from './api/connections.ts';
import { exchange } from './api/exchange.ts';
import { type Body, type BodyError, type Call, type JudgedResponse, judge } from './api/response.ts';
import { backoffMs } from './base/backoff.ts';
import { type Clock, isoTime, type Random } from './base/clock.ts';
import type { Failure } from './base/errors.ts';
import type { KeySource } from './base/key.ts';
import { REQUEST_DEADLINE_MS } from './governor/machine.ts';
import type { CompleteRequest, Governor } from './governor.ts';

type ApiRequest = {
  job: string;
  walkId: number | null;
  path: string;
  query: Record<string, number>;
  /** Finds what a body with status 200 tells of an error. */
  findError?: (json: unknown) => BodyError | undefined;
};

export { openConnections } from './api/connections.ts';
export { codeOf } from './api/exchange.ts';
export { readHeaders } from './api/response.ts';

export type ApiResponse = { body: Body; json: unknown; call: Call };

/** The result of one request. `aheadMs`: by how much our clock is ahead of the API's at least; null where that is not known. */
export type EndpointCheck = { call: Call; failure: Failure | null; aheadMs: number | null };

export type ApiParts = {
  /** Base address without a slash at its end. */
  baseUrl: string;
  key: KeySource;
  /** On the way to the API, where there is one. */
  proxy?: TunnelProxy | undefined;
  governor: Pick<Governor, 'acquire' | 'keyChanged'>;
  /** Keeps the record of a call that brought no page; the record of one that did travels with its response. */
  record(call: Call): void;
  clock: Clock;
  random: Random;
  userAgent: string;
  limits?: Partial<typeof defaultLimits>;
};

export type Api = {
  /**
   * @throws RequestFailure by the response's line in the catalogue (specification, Errors); Snooze where the wait for a permit is long;
   * the signal's reason when it is aborted.
   */
  get(request: ApiRequest, signal: AbortSignal): Promise<ApiResponse>;
  /** One request, never repeated and always recorded. @throws as `get` where there is no permit for it. */
  askOnce(request: ApiRequest, signal: AbortSignal): Promise<EndpointCheck>;
  /** Whether requests went through the proxy, as far as any was sent. */
  usesProxy(): boolean;
  close(): Promise<void>;
};

const defaultLimits = {
  connectMs: 10_000,
  headersMs: 30_000,
  deadlineMs: REQUEST_DEADLINE_MS,
  bodyBytes: 16 * 1024 ** 2,
};

/** How often a request is sent, the first time included. */
const MAX_SENDS = { never: 1, once: 2, 'after-pause': 3, 'when-allowed': 3 } as const;
/** Before a request without a response is repeated. */
const REPEAT_PAUSES = { firstMs: 500, longestMs: 10_000 };

export function createApi(parts: ApiParts): Api {
  const { key, governor, clock, random, record, userAgent } = parts;
  const limits = { ...defaultLimits, ...parts.limits };
  const base = new URL(parts.baseUrl);
  const basePath = base.pathname.replace(/\/$/, '');
  const { dispatcher, usesProxy } = openConnections(base.origin, parts.proxy, limits);

  async function acquire({ job }: ApiRequest, signal: AbortSignal) {
    if (key.reload()) governor.keyChanged();
    return await governor.acquire(job, signal);
  }

  async function send(request: ApiRequest, complete: CompleteRequest, signal: AbortSignal) {
    const { job, walkId, path } = request;
    const url = urlOf(path, request.query);
    const sentAt = clock.now();
    // Somebody may set the other clock meanwhile, and all later waits follow from this.
    const began = clock.monotonic();
    const address = { origin: base.origin, path: basePath + url };
    const secret = key.current();
    const received = await exchange(dispatcher, address, secret, userAgent, limits, signal);
    const latencyMs = clock.monotonic() - began;
    const judged = judge(received, { ...request, hide: secret.hideIn }, clock.now());
    const { status, bytes, facts, code } = judged;
    const { limit, remaining, retryAfterMs } = facts;
    const meaning = judged.fine ? null : judged.meaning;
    complete({
      status: meaning === 'limit' ? 429 : status,
      isBlocked: meaning === 'blocked',
      ...{ limit, remaining, retryAfterMs, stopped: signal.aborted },
    });
    const call: Call = {
      at: isoTime(sentAt),
      job,
      walkId,
      url,
      status,
      ms: Math.round(latencyMs),
      bytes,
      requestId: facts.requestId,
      rateLimit: limit,
      rateRemaining: remaining,
      errorCode: code,
    };
    return { judged, call };
  }

  return {
    async get(request, signal) {
      for (let sent = 1; ; sent += 1) {
        const complete = await acquire(request, signal);
        const { judged, call } = await send(request, complete, signal);
        if (judged.fine) return { body: judged.body, json: judged.json, call };
        record(call);
        signal.throwIfAborted();
        if (sent >= MAX_SENDS[judged.repeat]) throw judged.failure;
        // After a 429 or 503 the governor knows how long to wait.
        if (judged.repeat !== 'when-allowed')
          await clock.sleep(backoffMs(sent, REPEAT_PAUSES, random()), signal);
      }
    },

    async askOnce(request, signal) {
      const complete = await acquire(request, signal);
      const { judged, call } = await send(request, complete, signal);
      record(call);
      signal.throwIfAborted();
      return { call, failure: judged.fine ? null : judged.failure, aheadMs: clockLead(judged, call) };
    },

    usesProxy,
    close: () => dispatcher.destroy(),
  };
}

/** The response was made within the second that its date names, and while we waited for it. */
function clockLead({ facts: { respondedAt } }: JudgedResponse, { at, ms }: Call): number | null {
  if (respondedAt === null) return null;
  const least = Date.parse(at) - (respondedAt + 1_000);
  const most = Date.parse(at) + ms - respondedAt;
  return least > 0 ? least : Math.min(0, most);
}

/** Path and query, as they are recorded. */
export function urlOf(path: string, query: Record<string, number>): string {
  const text = Object.entries(query)
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  return path + (text && `?${text}`);
}
