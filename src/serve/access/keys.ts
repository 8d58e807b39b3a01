/**
 * The keys of the service (specification, "Authentication"): what a key looks like, what is kept of it, whose it is, and whether it
 * may be used from an address and for a scope.
 */

import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { networksOf } from '../../base/networks.ts';
import { type Connection, guardedAll } from '../../store/sqlite-files.ts';
import { type Limits, parseQuota, parseRate, unlimited } from './limits.ts';

/** Opens `/metrics` from elsewhere than this machine. */
export const METRICS_SCOPE = 'metrics:read';

/** Opens the page from elsewhere than this machine. */
export const PAGE_SCOPE = 'page:read';

/**
 * A key is a prefix that scanners for secrets find, 256 random bits, and a checksum, by which a typing mistake, or a key of
 * something else, is told from one of ours.
 */
const KEY_PREFIX = 'mmkey_';
const SECRET_BYTES = 32;
/** Characters that 256 and 32 bits take. */
const SECRET_LETTERS = 43;
const CHECKSUM_LETTERS = 6;

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const keyForm = new RegExp(`^${KEY_PREFIX}[0-9A-Za-z]{${SECRET_LETTERS + CHECKSUM_LETTERS}}$`);

export function newKey(): string {
  const secret = `${KEY_PREFIX}${inLetters(BigInt(`0x${randomBytes(SECRET_BYTES).toString('hex')}`), SECRET_LETTERS)}`;
  return `${secret}${checksumOf(secret)}`;
}

/** Says nothing of the key that it names. */
export function newKeyId(): string {
  return `k${randomBytes(5).toString('hex')}`;
}

/** Whether it may be one of ours: its form and its checksum are right. */
export function isKey(text: string): boolean {
  return keyForm.test(text) && text.endsWith(checksumOf(text.slice(0, -CHECKSUM_LETTERS)));
}

/** Looks like a key; such text must not be echoed. */
export function resemblesKey(text: string): boolean {
  return text.startsWith(KEY_PREFIX);
}

/** All that is kept of a key itself. */
export function digestOf(key: string): string {
  return hash('sha256', key);
}

function checksumOf(secret: string): string {
  return inLetters(BigInt(crc32(secret)), CHECKSUM_LETTERS);
}

function inLetters(value: bigint, length: number): string {
  const base = BigInt(alphabet.length);
  let text = '';
  for (let left = value; text.length < length; left /= base)
    text = alphabet.charAt(Number(left % base)) + text;
  return text;
}

/** A key as the database has it. Times are ISO 8601 UTC. */
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
  /** The id of the key that replaces it. */
  readonly rotatedTo: string | null;
};

type KeyRow = Omit<KeyRecord, 'scopes' | 'addresses'> & { scopes: string; addresses: string | null };

export function statusOf(
  { revokedAt, expiresAt }: Pick<KeyRecord, 'revokedAt' | 'expiresAt'>,
  now: number,
): 'active' | 'expired' | 'revoked' {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= now ? 'expired' : 'active';
}

export function keyReader(connection: Connection) {
  const select = (rest: string) => {
    const statement = connection.prepare<string[], KeyRow>(
      `SELECT id, name, account, scopes, addresses, created_at AS createdAt, expires_at AS expiresAt,
         last_used_at AS lastUsedAt, revoked_at AS revokedAt, rotated_to AS rotatedTo FROM keys ${rest}`,
    );
    return (...values: string[]): KeyRecord[] =>
      statement.all(...values).map(({ id, name, account, scopes, addresses, ...times }) => ({
        id,
        name,
        account,
        scopes: JSON.parse(scopes) as string[],
        addresses: addresses === null ? null : (JSON.parse(addresses) as string[]),
        ...times,
      }));
  };
  const byId = select('WHERE id = ?');
  const byDigest = select('WHERE digest = ?');
  return {
    /** Oldest first. */
    all: select('ORDER BY seq'),
    byName: select('WHERE name = ? ORDER BY seq'),
    byId: (id: string) => byId(id)[0],
    byDigest: (digest: string) => byDigest(digest)[0],
  };
}

/** @returns the limits of an account by its name; undefined where there is no such account. */
export function limitsReader(connection: Connection): (account: string) => Limits | undefined {
  const statement = connection.prepare<
    [string],
    { quota: string | null; rate: string | null; concurrency: number | null }
  >('SELECT quota, rate, concurrency FROM accounts WHERE name = ?');
  return (account) => {
    const row = statement.get(account);
    if (!row) return undefined;
    const { quota, rate, concurrency } = row;
    return {
      quota: quota === null ? null : parseQuota(quota),
      rate: rate === null ? null : parseRate(rate),
      concurrency,
    };
  };
}

export type Account = { readonly account: string; readonly limits: Limits };

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
