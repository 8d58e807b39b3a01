/**
 * The keys of the service and the accounts that they belong to: what a key looks like, what is kept of it, and how keys and
 * limits are managed.
 */

import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { isoTime } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import { nearest } from '../../near.ts';
import { type Connection, guardedAll } from '../../store/sqlite-files.ts';
import { openServeDatabase } from './database.ts';
import { type Limits, parseQuota, parseRate, renderQuota, renderRate, unlimited } from './limits.ts';

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

export type KeyTerms = Pick<KeyRecord, 'name' | 'account' | 'scopes' | 'addresses'> & {
  /** Epoch milliseconds; null for a key that does not expire. */
  readonly expiresAt: number | null;
};

/** The key itself is given here and nowhere else. */
export type Issued = { readonly key: string; readonly record: KeyRecord; readonly limits: Limits };

/** And the key that it replaces. */
export type Rotated = Issued & { readonly replaced: KeyRecord };

export type Account = { readonly account: string; readonly limits: Limits };

export type Keyring = ReturnType<typeof openKeyring>;

/** @throws Failure as `openServeDatabase` does. */
export function openKeyring(dir: string) {
  const connection = openServeDatabase(dir);
  const keyring = guardedAll(connection.name, keyringOf(connection));
  return { ...keyring, close: () => void connection.close() };
}

/**
 * `named` says which key is meant: by its id, or by its name where only one active key has it.
 * All of them: @throws Failure `usage` for what there is not, or what cannot be done with it.
 */
function keyringOf(connection: Connection) {
  const keys = keyReader(connection);
  const limitsOf = limitsReader(connection);
  const accountNames = connection.prepare<[], string>('SELECT name FROM accounts ORDER BY name').pluck();
  const addKey = connection.prepare(
    `INSERT INTO keys (id, digest, name, account, scopes, addresses, created_at, expires_at)
     VALUES (@id, @digest, @name, @account, @scopes, @addresses, @createdAt, @expiresAt)`,
  );
  const addAccount = connection.prepare('INSERT INTO accounts (name, created_at) VALUES (?, ?)');
  const updateLimits = connection.prepare(
    'UPDATE accounts SET quota = @quota, rate = @rate, concurrency = @concurrency WHERE name = @account',
  );
  const revoke = connection.prepare('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL');
  const replace = connection.prepare('UPDATE keys SET expires_at = ?, rotated_to = ? WHERE id = ?');

  /** The same in one transaction, which no other process writes into. */
  const atOnce = <Arguments extends unknown[], Result>(work: (...values: Arguments) => Result) => {
    const transaction = connection.transaction(work);
    return (...values: Arguments) => transaction.immediate(...values);
  };

  /** The key with this id, else the one with this name: the active one where several have it. */
  function findKey(named: string, now: number): KeyRecord {
    const byId = keys.byId(named);
    if (byId) return byId;
    const all = keys.byName(named);
    const active = all.filter((key) => statusOf(key, now) === 'active');
    const found = active.length > 0 ? active : all;
    const [only] = found;
    if (only && found.length === 1) return only;
    if (only)
      throw new Failure(
        'usage',
        `${found.length} keys have the name '${named}': say which by its id, ${found.map(({ id }) => id).join(' or ')}`,
      );
    const names = keys.all().flatMap(({ id, name }) => [id, name]);
    throw new Failure(
      'usage',
      `there is no key '${named}'${nearest(named, names)}; market-mirror keys list shows them`,
    );
  }

  function issue({ expiresAt, ...terms }: KeyTerms, now: number): Issued {
    const key = newKey();
    const id = newKeyId();
    addKey.run({
      ...terms,
      id,
      digest: digestOf(key),
      scopes: JSON.stringify(terms.scopes),
      addresses: terms.addresses && JSON.stringify(terms.addresses),
      createdAt: isoTime(now),
      expiresAt: expiresAt === null ? null : isoTime(expiresAt),
    });
    return { key, record: findKey(id, now), limits: limitsOf(terms.account) ?? unlimited };
  }

  function saveLimits(account: string, limits: Limits): Account {
    const { quota, rate, concurrency } = limits;
    updateLimits.run({
      account,
      quota: quota && renderQuota(quota),
      rate: rate && renderRate(rate),
      concurrency,
    });
    return { account, limits };
  }

  function account(name: string): Account {
    const limits = limitsOf(name);
    if (limits) return { account: name, limits };
    const near = nearest(name, accountNames.all());
    throw new Failure('usage', `there is no account '${name}'${near}; it comes with its first key`);
  }

  return {
    /** @param limits of a new account; an existing account keeps its own. */
    create: atOnce((terms: KeyTerms, limits: Partial<Limits> | undefined, now: number): Issued => {
      const isThere = limitsOf(terms.account) !== undefined;
      if (isThere && limits)
        throw new Failure(
          'usage',
          `account '${terms.account}' is there already, with limits of its own: market-mirror keys limits changes them`,
        );
      if (!isThere) {
        addAccount.run(terms.account, isoTime(now));
        saveLimits(terms.account, { ...unlimited, ...limits });
      }
      return issue(terms, now);
    }),
    /** Oldest first. */
    list: () => keys.all(),
    /** From now on it is refused; a key that is revoked already keeps its time. */
    revoke: atOnce((named: string, now: number): KeyRecord => {
      const { id } = findKey(named, now);
      revoke.run(isoTime(now), id);
      return findKey(id, now);
    }),
    /**
     * Another key on the same terms; the old one expires after the overlap.
     * @param lifetimeMs of the new one; as long as that of the old one unless given.
     */
    rotate: atOnce(
      (named: string, overlapMs: number, lifetimeMs: number | undefined, now: number): Rotated => {
        const old = findKey(named, now);
        refuseUnlessActive(old, now);
        const ends = old.expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(old.expiresAt);
        const lifetime = lifetimeMs ?? ends - Date.parse(old.createdAt);
        const expiresAt = Number.isFinite(lifetime) ? now + lifetime : null;
        const { name, account: itsAccount, scopes, addresses } = old;
        const issued = issue({ name, account: itsAccount, scopes, addresses, expiresAt }, now);
        replace.run(isoTime(Math.min(ends, now + overlapMs)), issued.record.id, old.id);
        return { ...issued, replaced: findKey(old.id, now) };
      },
    ),
    account,
    accounts: () => accountNames.all().map(account),
    /** Limits that are not given stay; null takes one away. */
    setLimits: atOnce((name: string, limits: Partial<Limits>) =>
      saveLimits(name, { ...account(name).limits, ...limits }),
    ),
  };
}

function refuseUnlessActive(key: KeyRecord, now: number): void {
  const status = statusOf(key, now);
  if (key.rotatedTo !== null)
    throw new Failure('usage', `key ${key.id} was rotated already: ${key.rotatedTo} took its place`);
  if (status !== 'active')
    throw new Failure('usage', `key ${key.id} is ${status}: create another by market-mirror keys create`);
}
