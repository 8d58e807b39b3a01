/**
 * The story of a GET, in order: the key, the limits and one call, what the response may cost, that, and then the rows. So nobody
 * learns of a moment that their key may not read, and nothing is planned or read that is not paid. `answers/` has what is answered:
 * `api-v1` the contract of the API, `mirror-v1` questions.
 */

import {
  type Admission,
  type Caller,
  type Charge,
  isRefused,
  type QuotaReport,
  type Refusal,
} from './access/admission.ts';
import type { Call } from './http/handler.ts';
import { authorizationOf } from './http/request.ts';
import {
  type HttpResponse,
  jsonResponse,
  onFinished,
  retryAfter,
  type StreamedResponse,
} from './http/response.ts';

/** A response that is known but for its body: all that it may cost is taken before anything is read. */
export type Plan = {
  /** How many calls it costs at most. */
  readonly calls: number;
  /**
   * What goes wrong while rows are read is a response, too; what it throws is a bug.
   */
  read(): PlannedResponse | Promise<PlannedResponse>;
};

/** A response, and how many calls it costs after all: one unless given, and none for a 304 or an error. */
export type PlannedResponse = StreamedResponse & { readonly calls?: number };

/** A response that is known already, and costs nothing or one call. */
export const finished = (response: HttpResponse): Plan => ({ calls: 1, read: () => response });

/** Until a walk may have ended that brings what is missing: the first one, or one that is fresher. */
export const UNREADY_SECONDS = 30;

/** Until the process that keeps the mirror busy may be done. */
export const BUSY_SECONDS = 5;

/** Answers a call that needs the scope; any active key will do where it is null. */
export type AnswerCall = (
  call: Call,
  scope: string | null,
  planFor: (call: Call, caller: Caller) => Plan,
) => Promise<StreamedResponse>;

/** @param beforeAnswer for tests: a call that was let in waits for it. */
export function callAnswerer(
  admission: Pick<Admission, 'identify' | 'enter'>,
  beforeAnswer: (() => Promise<void>) | undefined,
): AnswerCall {
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

export function identify(
  admission: Pick<Admission, 'identify'>,
  call: Call,
  scope: string | null,
): Caller | Refusal {
  const authorization = authorizationOf(call.incoming);
  const caller = admission.identify({ authorization, address: call.address, scope });
  if (isRefused(caller)) return caller;
  call.keyId = caller.id;
  call.account = caller.account;
  return caller;
}

export function refusedResponse(call: Call, refusal: Refusal): HttpResponse {
  call.limit = refusal.limit;
  return refusalResponse(refusal);
}

export function refusalResponse({ status, body, retryAfter: seconds, report }: Refusal): HttpResponse {
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
