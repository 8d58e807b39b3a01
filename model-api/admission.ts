/** Which calls are let in: path, method, key, address, scope, then the limits. */

import { BlockList, isIPv6 } from 'node:net';
import type { Endpoint } from './endpoints.ts';
import type { ApiKey, Refusal, Scope } from './keys.ts';
import type { Limits, Pass } from './limits.ts';

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
