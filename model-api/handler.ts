/** One call from its arrival to its answer. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Admission, type Admitted, admit, type Refused } from './admission.ts';
import { type Answer, type ApiRequest, jsonAnswer, realDelay, rowsIn, send } from './answer.ts';
import type { Call, CallLog } from './calls.ts';
import {
  type Endpoint,
  endpointNames,
  endpoints,
  listBody,
  type Paging,
  readPaging,
  usageBody,
} from './endpoints.ts';
import { applyFaults } from './faults.ts';
import { errorBody, refusals } from './keys.ts';
import type { ModelApi, ModelOptions } from './model.ts';
import { seededRandom, uuid } from './random.ts';

/** Statuses of which a client may hope that they cost nothing; the specification does not say. */
const FREE_STATUSES: readonly number[] = [401, 403, 429, 503];

type Visit = {
  readonly call: Call;
  readonly request: ApiRequest;
  readonly endpoint: Endpoint | undefined;
  readonly authorization: string | undefined;
};

export function createHandler(model: ModelApi, log: CallLog, options: ModelOptions, closing: AbortSignal) {
  const { basePath = '', now = Date.now, delay = realDelay, errorCodes, retryAfter } = options;
  const { quotaEndpoints = endpointNames, freeStatuses = FREE_STATUSES } = options;
  const { rateLimitHeaders = ['aiSignals'] } = options;
  const random = seededRandom(options.seed ?? 1);
  const visits = new Map<Endpoint | undefined, number>();
  const wait = (ms: number) => delay(ms, closing);

  return (incoming: IncomingMessage, response: ServerResponse): void => {
    serve(incoming, response).catch((error: unknown) => {
      response.destroy();
      if (!closing.aborted) throw error;
    });
  };

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const visit = receive(incoming);
    const { call, request } = visit;
    const admission = check(visit);
    const leave = admission.refused ? () => {} : admission.pass.leave;
    response.once('close', leave);
    if (!admission.refused) await model.beforeAnswer?.(call, model);
    const answer = planAnswer(call, request, admission);
    charge(call, admission, answer);
    record(call, answer);
    await send(answer, response, wait, () => {
      call.sent = true;
      leave();
    });
  }

  function receive(incoming: IncomingMessage): Visit {
    const [path = '', search = ''] = (incoming.url ?? '').split(/\?(.*)/s);
    const query = new URLSearchParams(search);
    const endpoint = endpoints.find((known) => `${basePath}${known.path}` === path);
    const { authorization, ...headers } = incoming.headers;
    const nth = (visits.get(endpoint) ?? 0) + 1;
    visits.set(endpoint, nth);
    const seen = { at: now(), method: incoming.method ?? '', path, endpoint: endpoint?.name ?? null };
    const call = log.add({
      ...seen,
      query: Object.fromEntries(query),
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
      remoteAddress: incoming.socket.remoteAddress ?? '',
      requestId: uuid(random),
      keyId: null,
      inFlight: 0,
      refusedBy: null,
      status: null,
      rowIds: [],
      sent: false,
    });
    incoming.resume();
    const request = { ...seen, ...readPaging(query), query, number: call.number, nth };
    return { call, request, endpoint, authorization };
  }

  function check({ call, endpoint, authorization }: Visit): Admission {
    const costsQuota = endpoint !== undefined && quotaEndpoints.includes(endpoint.name);
    const admission = admit({ ...call, authorization }, endpoint, model.keys, model.limits, costsQuota);
    call.keyId = admission.key?.id ?? (authorization === undefined ? null : 'unknown');
    call.refusedBy = admission.refused;
    call.inFlight = model.limits.inFlight;
    return admission;
  }

  /** As the specification has it, and as scripted faults leave it. */
  function planAnswer(call: Call, request: ApiRequest, admission: Admission): Answer {
    const bodyAt = (paging: Paging) => admission.refused === null && bodyOf(admission, request, paging);
    const planned = admission.refused ? refusal(admission) : success(admission, bodyAt(request));
    const delayMs = typeof model.latencyMs === 'function' ? model.latencyMs() : model.latencyMs;
    const headers = { ...planned.headers, 'x-request-id': call.requestId };
    return applyFaults({ ...planned, headers, delayMs }, model.faults, { request, random, bodyAt });
  }

  function bodyOf({ endpoint: { name } }: Admitted, { query }: ApiRequest, paging: Paging): unknown {
    return name === 'usage'
      ? usageBody(log, model.limits, now())
      : listBody(name, model.data[name], query, paging);
  }

  function success({ endpoint, pass }: Admitted, body: unknown): Answer {
    if (!rateLimitHeaders.includes(endpoint.name)) return jsonAnswer(200, body);
    return jsonAnswer(200, body, {
      'x-ratelimit-limit': String(pass.limit),
      'x-ratelimit-remaining': String(pass.remaining),
    });
  }

  function refusal({ refused, readyAt }: Refused): Answer {
    const { status, code } = refusals[refused];
    const retry = readyAt === undefined ? undefined : retryAfter?.(readyAt, now());
    return jsonAnswer(status, errorBody(status, errorCodes?.[refused] ?? code), {
      ...(retry === undefined ? {} : { 'retry-after': retry }),
      ...(refused === 'method' ? { allow: 'GET' } : {}),
    });
  }

  /** Whether a call costs anything shows in its status alone. */
  function charge({ endpoint }: Call, admission: Admission, { status }: Answer): void {
    const isFree = freeStatuses.includes(status);
    if (!admission.refused && isFree) admission.pass.refund(now());
    if (!admission.refused || isFree || !admission.key) return;
    if (endpoint && quotaEndpoints.includes(endpoint)) model.limits.quota.spend(1, now());
  }

  function record(call: Call, { status, body }: Answer): void {
    call.status = status;
    if (status === 200 && call.endpoint && call.endpoint !== 'usage') {
      const { idField } = model.data[call.endpoint];
      call.rowIds = rowsIn(body).map((row) => String(Object(row)[idField]));
    }
    log.count(call);
  }
}
