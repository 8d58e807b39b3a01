/** Keys and accounts as the database has them. */

import type { Connection } from '../../../store/sqlite-files.ts';
import { type Limits, parseQuota, parseRate } from '../limits.ts';

/** Times are ISO 8601 UTC. */
export type KeyRecord = {
  readonly id: string;
  readonly name: string;
  readonly account: string;
  readonly scopes: readonly string[];
  /** The only addresses and networks from which it may be used; null for any. */
  readonly addresses: readonly string[] | null;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  /** Kept once a minute at most. */
  readonly lastUsedAt: string | null;
  readonly revokedAt: string | null;
  /** The id of the key that takes its place. */
  readonly rotatedTo: string | null;
};

type KeyRow = Omit<KeyRecord, 'scopes' | 'addresses'> & { scopes: string; addresses: string | null };

const COLUMNS = `id, name, account, scopes, addresses, created_at AS createdAt, expires_at AS expiresAt,
  last_used_at AS lastUsedAt, revoked_at AS revokedAt, rotated_to AS rotatedTo`;

function recordOf(row: KeyRow): KeyRecord {
  const { id, name, account, scopes, addresses, ...times } = row;
  return {
    id,
    name,
    account,
    scopes: JSON.parse(scopes) as string[],
    addresses: addresses === null ? null : (JSON.parse(addresses) as string[]),
    ...times,
  };
}

/** How a key stands. */
export function statusOf(
  { revokedAt, expiresAt }: Pick<KeyRecord, 'revokedAt' | 'expiresAt'>,
  now: number,
): 'active' | 'expired' | 'revoked' {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= now ? 'expired' : 'active';
}

export type KeyReader = {
  /** Oldest first. */
  all(): KeyRecord[];
  byId(id: string): KeyRecord | undefined;
  byName(name: string): KeyRecord[];
  byDigest(digest: string): KeyRecord | undefined;
};

export function keyReader(connection: Connection): KeyReader {
  const select = (rest: string) =>
    connection.prepare<string[], KeyRow>(`SELECT ${COLUMNS} FROM keys ${rest}`);
  const all = select('ORDER BY seq');
  const byId = select('WHERE id = ?');
  const byName = select('WHERE name = ? ORDER BY seq');
  const byDigest = select('WHERE digest = ?');
  return {
    all: () => all.all().map(recordOf),
    byId: (id) => byId.all(id).map(recordOf)[0],
    byName: (name) => byName.all(name).map(recordOf),
    byDigest: (digest) => byDigest.all(digest).map(recordOf)[0],
  };
}

type LimitsRow = { quota: string | null; rate: string | null; concurrency: number | null };

/** @returns the limits of an account by its name; undefined where there is no such account. */
export function limitsReader(connection: Connection): (account: string) => Limits | undefined {
  const statement = connection.prepare<[string], LimitsRow>(
    'SELECT quota, rate, concurrency FROM accounts WHERE name = ?',
  );
  return (account) => {
    const row = statement.get(account);
    return (
      row && {
        quota: row.quota === null ? null : parseQuota(row.quota),
        rate: row.rate === null ? null : parseRate(row.rate),
        concurrency: row.concurrency,
      }
    );
  };
}
