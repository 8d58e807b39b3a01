/**
 * The endpoints of the service. `answerCall` is the story of a GET, in order: the key, the limits and one call, what the response
 * may cost, that, and then the rows. So nobody learns of a moment that their key may not read, and nothing is planned or read that
 * is not paid.
 */

import type { ListedJob } from '../job-list.ts';
import { authorizationOf } from './http/client.ts';
import type { Call, Route } from './http/handler.ts';
import { type HttpResponse, jsonResponse, retryAfter, type StreamedResponse } from './http/response.ts';
import { onFinished } from './http/stream.ts';
import {
  type Admission,
  type Caller,
  type Charge,
  isRefused,
  type QuotaReport,
  type Refusal,
} from './service/admission.ts';
import { METRICS_SCOPE } from './service/keys.ts';
import { finished, type Lists, type Plan, type PlannedResponse, UNREADY_SECONDS } from './service/lists.ts';
import type { Metrics } from './service/metrics.ts';
import { describeService } from './service/openapi.ts';
import { usageBody } from './service/usage.ts';

type AnswerParts = {
  admission: Admission;
  /** For tests: a call that was let in waits for it. */
  beforeAnswer?: (() => Promise<void>) | undefined;
};

/** Answers a call that needs the scope; any active key will do where it is null. */
export type AnswerCall = (
  call: Call,
  scope: string | null,
  planFor: (call: Call, caller: Caller) => Plan,
) => Promise<StreamedResponse>;

export function callAnswerer({ admission, beforeAnswer }: AnswerParts): AnswerCall {
  return async (call, scope, planFor) => {
    const caller = identify(admission, call, scope);
    if (isRefused(caller)) return refusedResponse(call, caller);
    const permit = admission.enter(caller);
    if (isRefused(permit)) return refusedResponse(call, permit);
    onFinished(call, permit.leave);
    let further: Charge | undefined;
    try {
      const plan = planFor(call, caller);
      const more = plan.calls > 1 ? permit.takeMore(plan.calls - 1) : undefined;
      if (more && isRefused(more)) return refusedResponse(call, { ...more, report: permit.refund() });
      further = more;
      if (beforeAnswer) await beforeAnswer();
      const response = await plan.read();
      // There may have come more rows since they were counted.
      const unused = Math.max(0, plan.calls - callsOf(response));
      further?.refund(unused);
      return withLimits(response, permit.refund(Math.max(0, unused - (plan.calls - 1))));
    } catch (thrown) {
      further?.refund();
      permit.refund();
      throw thrown;
    }
  };

  function withLimits(response: PlannedResponse, report: QuotaReport): StreamedResponse {
    const { status, headers, body } = response;
    if (status >= 400) return response;
    // One object spread behind another is set member by member: 2 µs.
    return { status, headers: Object.assign({}, headers, limitHeaders(report)), body };
  }
}

const callsOf = ({ status, calls }: PlannedResponse): number =>
  calls ?? (status === 304 || status >= 400 ? 0 : 1);

export function identify(admission: Admission, call: Call, scope: string | null): Caller | Refusal {
  const authorization = authorizationOf(call.incoming);
  const caller = admission.identify({ authorization, address: call.address, scope });
  if (isRefused(caller)) return caller;
  call.keyId = caller.id;
  call.account = caller.account;
  return caller;
}

export type ServiceParts = {
  jobs: readonly ListedJob[];
  admission: Admission;
  answerCall: AnswerCall;
  lists: Lists;
  metrics: () => Pick<Metrics, 'readiness' | 'expose'>;
  /** Whether `/mirror/v1` is answered. */
  hasQuery: boolean;
  /** Epoch milliseconds. */
  now(): number;
};

export function serviceRoutes(parts: ServiceParts): Route[] {
  const { admission, answerCall, lists, metrics } = parts;
  const describe = describeService(parts.jobs, parts.hasQuery);
  const endpoints = parts.jobs.map((job): Route => {
    const parameters = job.history === null ? [] : ['offset', 'limit', 'seq', ...Object.keys(job.filters)];
    const plan = (call: Call, caller: Caller): Plan => {
      if (![...call.query.keys()].every((name) => parameters.includes(name)))
        return finished(unknownParameter(parameters));
      return job.history === null ? planUsage(caller) : lists.plan(job, call, caller.account);
    };
    return { name: job.name, path: job.path, respond: (call) => answerCall(call, job.scope, plan) };
  });
  const open: Route[] = [
    { name: 'healthz', path: '/healthz', respond: () => jsonResponse(200, { status: 'ok' }) },
    { name: 'openapi', path: '/openapi.json', respond: describe },
    { name: 'readyz', path: '/readyz', respond: readyz },
    { name: 'metrics', path: '/metrics', respond: scrape },
  ];
  return [...endpoints, ...open];

  /** The specification does not show the shape of usage: it is ours. */
  function planUsage(caller: Caller): Plan {
    return {
      calls: 1,
      read() {
        const usage = usageBody(admission, caller, parts.now());
        return isRefused(usage) ? refusalResponse(usage) : jsonResponse(200, usage);
      },
    };
  }

  function readyz(): HttpResponse {
    const readiness = metrics().readiness();
    return readiness.ready
      ? jsonResponse(200, readiness)
      : jsonResponse(503, readiness, retryAfter(UNREADY_SECONDS));
  }

  /** Open on the machine of the service; from elsewhere it takes a key. */
  async function scrape(call: Call): Promise<HttpResponse> {
    const caller = call.isLocal ? undefined : identify(admission, call, METRICS_SCOPE);
    if (caller && isRefused(caller)) return refusedResponse(call, caller);
    const { contentType, text } = await metrics().expose();
    return { status: 200, headers: { 'Content-Type': contentType, 'Cache-Control': 'no-store' }, body: text };
  }
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

function refusedResponse(call: Call, refusal: Refusal): HttpResponse {
  call.limit = refusal.limit;
  return refusalResponse(refusal);
}

function refusalResponse({ status, body, retryAfter: seconds, report }: Refusal): HttpResponse {
  // HTTP requires it (RFC 9110, 15.5.2), and it says no more than the specification does.
  const challenge = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {};
  return jsonResponse(status, body, {
    ...challenge,
    ...retryAfter(seconds),
    ...(report && limitHeaders(report)),
  });
}

/** What a success says of the quota (specification, "Endpoints"). */
function limitHeaders({ limit, remaining }: QuotaReport): Record<string, string> {
  return { 'X-RateLimit-Limit': String(limit), 'X-RateLimit-Remaining': String(remaining) };
}
