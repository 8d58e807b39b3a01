/** The answer to a call, as the specification has it and as scripted faults leave it. */

import type { Admission, Admitted, Refused } from './admission.ts';
import { type Answer, type ApiRequest, jsonAnswer } from './answer.ts';
import type { Call, CallLog } from './calls.ts';
import { type EndpointName, listBody } from './endpoints.ts';
import { applyFaults } from './faults/script.ts';
import type { ModelApi, ModelOptions } from './options.ts';
import type { Paging } from './paging.ts';
import type { Random } from './random.ts';
import { errorBody, errorCodes, statusOf } from './refusals.ts';
import { usageBody } from './usage.ts';

export function createPlanner(
  model: ModelApi,
  log: CallLog,
  options: ModelOptions,
  now: () => number,
  random: Random,
) {
  const codes = { ...errorCodes, ...options.errorCodes };
  const reporting: readonly EndpointName[] = options.rateLimitHeaders ?? ['aiSignals'];

  return (call: Call, request: ApiRequest, admission: Admission): Answer => {
    const bodyAt = (paging: Paging) => admission.refused === null && body(admission, request, paging);
    const planned = admission.refused ? refusal(admission) : success(admission, bodyAt(request));
    const delayMs = typeof model.latencyMs === 'function' ? model.latencyMs() : model.latencyMs;
    const headers = { ...planned.headers, 'x-request-id': call.requestId };
    return applyFaults({ ...planned, headers, delayMs }, model.faults, { request, random, bodyAt });
  };

  function body({ endpoint: { name } }: Admitted, { query }: ApiRequest, paging: Paging): unknown {
    return name === 'usage'
      ? usageBody(log, model.limits, now())
      : listBody(name, model.data[name], query, paging);
  }

  function success({ endpoint, pass }: Admitted, page: unknown): Answer {
    if (!reporting.includes(endpoint.name)) return jsonAnswer(200, page);
    return jsonAnswer(200, page, {
      'x-ratelimit-limit': String(pass.limit),
      'x-ratelimit-remaining': String(pass.remaining),
    });
  }

  function refusal({ refused, readyAt }: Refused): Answer {
    const status = statusOf[refused];
    const retryAfter = readyAt === undefined ? undefined : options.retryAfter?.(readyAt, now());
    return jsonAnswer(status, errorBody(status, codes[refused]), {
      ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
      ...(refused === 'method' ? { allow: 'GET' } : {}),
    });
  }
}
