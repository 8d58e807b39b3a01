/** Which calls are let in (path, method, key, address, scope, then the limits), and how the others are refused. */

import { BlockList, isIPv6 } from 'node:net';
import type { Endpoint } from './endpoints.ts';
import type { Limits, Pass } from './limits.ts';

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

/**
 * By reason. Of the codes only `invalid_api_key` is known; the rest are inventions that a client cannot rely on. All
 * limits share one code, so that a client has to tell them apart by what it sees, as with the real API.
 */
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

export type Admission = Admitted | Refused;

export type Admitted = {
  readonly refused: null;
  readonly key: ApiKey;
  readonly endpoint: Endpoint;
  readonly pass: Pass;
};

export type Refused = {
  readonly refused: Refusal;
  /** The key, if it is one that was issued. */
  readonly key: ApiKey | null;
  /** Of a limit: when it will allow a call (epoch milliseconds). */
  readonly readyAt?: number;
};

export type Visitor = {
  readonly method: string;
  readonly authorization: string | undefined;
  readonly remoteAddress: string;
  /** Epoch milliseconds. */
  readonly at: number;
};

export function admit(
  visitor: Visitor,
  endpoint: Endpoint | undefined,
  keys: readonly ApiKey[],
  limits: Limits,
  costsQuota: boolean,
): Admission {
  if (!endpoint) return { refused: 'path', key: null };
  if (visitor.method !== 'GET') return { refused: 'method', key: null };
  const sent = /^Bearer +(\S+)$/i.exec(visitor.authorization ?? '')?.[1];
  const key = keys.find((known) => known.key === sent);
  if (!key) return { refused: 'key', key: null };
  const refused = refusalOf(key, endpoint.scope, visitor);
  if (refused) return { refused, key };
  const entry = limits.enter(visitor.at, costsQuota);
  return 'by' in entry
    ? { refused: entry.by, key, readyAt: entry.readyAt }
    : { refused: null, key, endpoint, pass: entry };
}

/** An Error body (specification, "Errors"): two string fields and no others. */
export function errorBody(status: number, code: string): { error: string; message: string } {
  return { error: code, message: messages[status] ?? 'The request could not be answered.' };
}

/** Why the key may not be used here and now (specification, "Authentication"). Without a scope any active key may. */
function refusalOf(key: ApiKey, scope: Scope | null, { at, remoteAddress }: Visitor): Refusal | null {
  const expired = key.expiresAt !== undefined && key.expiresAt <= at;
  if (key.active === false || expired) return 'key';
  if (key.ips && !includesAddress(key.ips, remoteAddress)) return 'ip';
  return scope && !key.scopes.includes(scope) ? 'scope' : null;
}

function includesAddress(allowed: readonly string[], address: string): boolean {
  const list = new BlockList();
  for (const entry of allowed) {
    const [network = '', prefix] = entry.split('/');
    const family = isIPv6(network) ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(network, family);
    else list.addSubnet(network, Number(prefix), family);
  }
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}
