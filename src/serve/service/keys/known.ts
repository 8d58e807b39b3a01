/** The keys as a process that serves looks them up: by digest, and never as they were before the last change. */

import { type Connection, guardedAll } from '../../../store/sqlite-files.ts';
import type { Limits } from '../limits.ts';
import { unlimited } from '../limits.ts';
import { networksOf } from './addresses.ts';
import { type KeyRecord, keyReader, limitsReader } from './records.ts';

export type KnownKey = {
  readonly id: string;
  readonly name: string;
  readonly account: string;
  readonly scopes: readonly string[];
  /** Whether it may be used from an address; null where it may from any. */
  readonly allows: ((address: string) => boolean) | null;
  /** Epoch milliseconds. */
  readonly expiresAt: number | null;
  readonly isRevoked: boolean;
  readonly lastUsedAt: number | null;
};

export type KnownKeys = {
  find(digest: string): KnownKey | undefined;
  limitsOf(account: string): Limits;
};

/** What another connection has committed counts from the next question on. @throws Failure `disk`. */
export function openKnownKeys(connection: Connection): KnownKeys {
  const version = connection.prepare<[], number>('PRAGMA data_version').pluck();
  const { byDigest } = keyReader(connection);
  const readLimits = limitsReader(connection);
  // As many as there are in the database at most: what is not there is not kept.
  const keys = new Map<string, KnownKey>();
  const limits = new Map<string, Limits>();
  let known: number | undefined;

  const refresh = () => {
    const now = version.get();
    if (now === known) return;
    keys.clear();
    limits.clear();
    known = now;
  };

  return guardedAll(connection.name, {
    find(digest: string) {
      refresh();
      const kept = keys.get(digest);
      if (kept) return kept;
      const record = byDigest(digest);
      if (!record) return undefined;
      const key = knownKey(record);
      keys.set(digest, key);
      return key;
    },
    limitsOf(account: string) {
      const kept = limits.get(account);
      if (kept) return kept;
      const read = readLimits(account) ?? unlimited;
      limits.set(account, read);
      return read;
    },
  });
}

function knownKey(record: KeyRecord): KnownKey {
  const { id, name, account, scopes, addresses, expiresAt, lastUsedAt, revokedAt } = record;
  const timeOf = (time: string | null) => (time === null ? null : Date.parse(time));
  return {
    id,
    name,
    account,
    scopes,
    allows: addresses && networksOf(addresses),
    expiresAt: timeOf(expiresAt),
    isRevoked: revokedAt !== null,
    lastUsedAt: timeOf(lastUsedAt),
  };
}
