/** API keys (specification, "Authentication"): scopes, life time, and where they may be used from. */

import { BlockList, isIPv6 } from 'node:net';

export const scopes = ['news:read', 'smart-wallets:read', 'meme:read', 'ai-signals:read'] as const;
export type Scope = (typeof scopes)[number];

/** A key that the model accepts. Those in `model.keys` may be changed between two calls. */
export type ApiKey = {
  /** Names the key in records, where the key itself never stands. */
  readonly id: string;
  readonly key: string;
  scopes: readonly Scope[];
  active?: boolean;
  /** Epoch milliseconds; the key is refused from then on. */
  expiresAt?: number;
  /** Addresses or subnets (`192.0.2.0/24`) that may use the key; anywhere if not given. */
  ips?: readonly string[];
};

/** The key that a model accepts unless told otherwise. It opens nothing but a model. */
export const sampleKey = {
  id: 'sample',
  key: 'sample-key-of-the-model-api',
  scopes,
} as const satisfies ApiKey;

export type KeyCheck =
  | { readonly refused: null; readonly key: ApiKey }
  | { readonly refused: 'key' | 'scope' | 'ip'; readonly key: ApiKey | null };

export type KeyUse = {
  readonly authorization: string | undefined;
  readonly remoteAddress: string;
  /** Epoch milliseconds. */
  readonly at: number;
};

/** Whether the Authorization header's key may be used here and now. Without a scope any active key may. */
export function checkKey(keys: readonly ApiKey[], scope: Scope | null, use: KeyUse): KeyCheck {
  const sent = /^Bearer +(\S+)$/i.exec(use.authorization ?? '')?.[1];
  const key = keys.find((known) => known.key === sent);
  if (!key) return { refused: 'key', key: null };
  const expired = key.expiresAt !== undefined && key.expiresAt <= use.at;
  if (key.active === false || expired) return { refused: 'key', key };
  if (key.ips && !includesAddress(key.ips, use.remoteAddress)) return { refused: 'ip', key };
  if (scope && !key.scopes.includes(scope)) return { refused: 'scope', key };
  return { refused: null, key };
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
