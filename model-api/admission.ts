/** Who may come in: path, method, key, address, scope, then the limits, in this order. */

import type { Endpoint } from './endpoints.ts';
import { type ApiKey, checkKey } from './keys.ts';
import type { Limits, Pass } from './limits/index.ts';
import type { Refusal } from './refusals.ts';

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
  const { refused, key } = checkKey(keys, endpoint.scope, visitor);
  if (refused) return { refused, key };
  const entry = limits.enter(visitor.at, costsQuota);
  return 'by' in entry
    ? { refused: entry.by, key, readyAt: entry.readyAt }
    : { refused: null, key, endpoint, pass: entry };
}
