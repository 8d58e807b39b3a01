/**
 * Who sends a call (specification, "Authentication"): the key in its header, found by digest, and whether it may be used from
 * that address and for that scope. Guesses are limited by address; a valid key never is.
 */

import { isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';
import { networksOf } from '../../networks.ts';
import { type Connection, guardedAll } from '../../store/sqlite-files.ts';
import { digestOf, isKey, type KeyRecord, keyReader, limitsReader } from './keys.ts';
import { type AccountState, type Limits, nothingCounted, type Rate, takeCall, unlimited } from './limits.ts';

/** A key as a process that serves keeps it in memory. */
export type KnownKey = Pick<KeyRecord, 'id' | 'name' | 'account' | 'scopes'> & {
  /** Of its account. */
  readonly limits: Limits;
  /** Whether it may be used from an address; null where it may from any. */
  readonly allows: ((address: string) => boolean) | null;
  /** Epoch milliseconds. */
  readonly expiresAt: number | null;
  readonly isRevoked: boolean;
  readonly lastUsedAt: number | null;
};

type KnownKeys = { find(digest: string): KnownKey | undefined };

/** What another connection has committed counts from the next lookup on. @throws Failure `disk`. */
export function openKnownKeys(connection: Connection): KnownKeys {
  const { byDigest } = keyReader(connection);
  const readLimits = limitsReader(connection);
  return guardedAll(connection.name, {
    find(digest: string) {
      const record = byDigest(digest);
      return record && knownKey(record, readLimits(record.account) ?? unlimited);
    },
  });
}

function knownKey(record: KeyRecord, limits: Limits): KnownKey {
  const { id, name, account, scopes, addresses, expiresAt, lastUsedAt, revokedAt } = record;
  const timeOf = (time: string | null) => (time === null ? null : Date.parse(time));
  return {
    id,
    name,
    account,
    scopes,
    limits,
    allows: addresses && networksOf(addresses),
    expiresAt: timeOf(expiresAt),
    isRevoked: revokedAt !== null,
    lastUsedAt: timeOf(lastUsedAt),
  };
}

/** The digest of the key in an Authorization header; undefined where there is none that could be ours. */
export function digestIn(authorization: string | undefined): string | undefined {
  const [, key = ''] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  return isKey(key) ? digestOf(key) : undefined;
}

/**
 * Why a key is refused: for itself, or for what it is used for; null where it is not.
 * @param scope null where any active key will do.
 */
export function whyRefused(
  key: KnownKey | undefined,
  { address, scope }: { address: string; scope: string | null },
  now: number,
): 'key' | 'forbidden' | null {
  if (!key || key.isRevoked || (key.expiresAt !== null && key.expiresAt <= now)) return 'key';
  const isElsewhere = key.allows !== null && !key.allows(address);
  return isElsewhere || (scope !== null && !key.scopes.includes(scope)) ? 'forbidden' : null;
}

/** So many failures at once are slips of a program; more than so many a second are guesses. */
export const FAILURE_RATE: Rate = { calls: 5, periodMs: 1_000, burst: 300 };

/** Beyond these the addresses that were quiet for longest are forgotten. */
const MAX_FAILURE_ADDRESSES = 10_000;

/** @returns what counts a call without a valid key, and says how long its address has to wait, in milliseconds. */
export function countFailures(): (address: string, now: number) => number {
  const limits = { ...unlimited, rate: FAILURE_RATE };
  const states = new LRUCache<string, AccountState>({ max: MAX_FAILURE_ADDRESSES });
  return (address, now) => {
    const network = networkOf(address);
    const { state, exceeded } = takeCall(states.get(network) ?? nothingCounted, now, limits, 0);
    states.set(network, state);
    return exceeded ? exceeded.readyAt - now : 0;
  };
}

/** A client with one address of IPv6 has all those that share its first half. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address;
  const [head = '', tail = ''] = address.split('%')[0]?.split('::') ?? [];
  const [before = [], after = []] = [head, tail].map((part) =>
    part.split(':').filter((group) => group !== ''),
  );
  const zeros = Array(8 - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
}
