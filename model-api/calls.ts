/** Keys with their scopes, the ways in which a call is refused, and the record of all calls, for tests to look at. */

import type { EndpointName } from './datasets.ts';

export const scopes = ['news:read', 'smart-wallets:read', 'meme:read', 'ai-signals:read'] as const;
export type Scope = (typeof scopes)[number];

/** A key that the model accepts. Those in `model.keys` may be changed between two calls. */
export type ApiKey = {
  /** Names the key in records, which never contain the key itself. */
  readonly id: string;
  readonly key: string;
  scopes: readonly Scope[];
  active?: boolean;
  /** Epoch milliseconds; the key is refused from then on. */
  expiresAt?: number;
  /** Addresses or subnets (`192.0.2.0/24`) that may use the key; anywhere if not given. */
  ips?: readonly string[];
};

/** The key that a model accepts by default. It is of no use anywhere else. */
export const sampleKey = {
  id: 'sample',
  key: 'sample-key-of-the-model-api',
  scopes,
} as const satisfies ApiKey;

/** By reason. Only the code `invalid_api_key` is specified. All limits share a code: a client has to tell them apart, as with the real API. */
export const refusals = {
  key: { status: 401, code: 'invalid_api_key' },
  scope: { status: 403, code: 'forbidden' },
  ip: { status: 403, code: 'forbidden' },
  concurrency: { status: 429, code: 'too_many_requests' },
  rate: { status: 429, code: 'too_many_requests' },
  quota: { status: 429, code: 'too_many_requests' },
  unavailable: { status: 503, code: 'service_unavailable' },
  path: { status: 404, code: 'not_found' },
  method: { status: 405, code: 'method_not_allowed' },
} as const satisfies Record<string, { status: number; code: string }>;

export type Refusal = keyof typeof refusals;

const messages: Readonly<Record<number, string>> = {
  401: 'The API key is missing or not valid.',
  403: 'This API key may not be used for this request.',
  404: 'There is no such path.',
  405: 'Only GET is allowed.',
  429: 'A limit of the account has been reached. Try again later.',
  503: 'A required service is temporarily unavailable.',
};

/** An Error body (specification, "Errors"): two string fields and no others. */
export function errorBody(status: number, code: string): { error: string; message: string } {
  return { error: code, message: messages[status] ?? 'The request could not be answered.' };
}

/** A call to the model and what it answered, for tests to look at. */
export type Call = {
  /** 1 for the first call to the model. */
  readonly number: number;
  /** Epoch milliseconds at its arrival. */
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Null for a path that does not exist. */
  readonly endpoint: EndpointName | null;
  /** As received, without Authorization, which must not be recorded. */
  readonly headers: Readonly<Record<string, string>>;
  readonly remoteAddress: string;
  readonly requestId: string;
  /** `ApiKey.id`; `unknown` for a key that was not issued; null without a key. */
  keyId: string | null;
  /** Calls in flight when this one was let in, itself included; or when it was refused. */
  inFlight: number;
  /** Why the model refused it, scripted faults aside. */
  refusedBy: Refusal | null;
  /** The status that was sent, or would have been if the connection had held; null until it is decided. */
  status: number | null;
  /** Ids of the rows in the answer, in their order. */
  rowIds: readonly string[];
  /** The whole answer was handed to a living connection. */
  sent: boolean;
};

export type CallLog = {
  /** Newest last. */
  readonly calls: Call[];
  add(call: Omit<Call, 'number'>): Call;
  /** Calls ever made by endpoint and by status, also of those no longer kept. */
  tally(): { total: number; byEndpoint: Record<string, number>; byStatus: Record<string, number> };
  count(call: Call): void;
};

export function createCallLog(keep: number): CallLog {
  const calls: Call[] = [];
  const byEndpoint: Record<string, number> = {};
  const byStatus: Record<string, number> = {};
  let total = 0;
  return {
    calls,
    add(seen) {
      total += 1;
      const call: Call = { number: total, ...seen };
      calls.push(call);
      // In large steps, since removing from the head moves all the others.
      if (calls.length >= 2 * keep) calls.splice(0, calls.length - keep);
      return call;
    },
    count({ endpoint, status }) {
      byEndpoint[endpoint ?? 'other'] = (byEndpoint[endpoint ?? 'other'] ?? 0) + 1;
      byStatus[String(status)] = (byStatus[String(status)] ?? 0) + 1;
    },
    tally: () => ({ total, byEndpoint: { ...byEndpoint }, byStatus: { ...byStatus } }),
  };
}
