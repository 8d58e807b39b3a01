/** The keys of the service and the limits of their accounts, for those who manage them. */

import { isoTime } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import { nearest } from '../../near.ts';
import { type Connection, guardedAll } from '../../store/sqlite-files.ts';
import { openServeDatabase } from './database.ts';
import { findKey } from './keys/find.ts';
import { digestOf, newKey, newKeyId } from './keys/format.ts';
import { type KeyRecord, keyReader, limitsReader, statusOf } from './keys/records.ts';
import { type Limits, renderQuota, renderRate, unlimited } from './limits.ts';

export { resemblesKey } from './keys/format.ts';
export { type KeyRecord, statusOf } from './keys/records.ts';

/** Opens `/metrics` from elsewhere than this machine. */
export const METRICS_SCOPE = 'metrics:read';

/** Opens the page from elsewhere than this machine. */
export const PAGE_SCOPE = 'page:read';

export type KeyTerms = Pick<KeyRecord, 'name' | 'account' | 'scopes' | 'addresses'> & {
  /** Epoch milliseconds; null for a key that does not expire. */
  readonly expiresAt: number | null;
};

/** The key itself is given here and nowhere else. */
export type Issued = { readonly key: string; readonly record: KeyRecord; readonly limits: Limits };

/** And the key in whose place it comes. */
export type Rotated = Issued & { readonly replaced: KeyRecord };

export type Account = { readonly account: string; readonly limits: Limits };

/**
 * `named` says which key is meant: by its id, or by its name where that is the name of one alone that is active.
 * All of them: @throws Failure `usage` for what there is not, or what cannot be done with it.
 */
export type Keyring = {
  /** @param limits of a new account; an account that is there keeps its own. */
  create(terms: KeyTerms, limits: Partial<Limits> | undefined, now: number): Issued;
  /** Oldest first. */
  list(): KeyRecord[];
  /** From now on it is refused; a key that is revoked already stays so since then. */
  revoke(named: string, now: number): KeyRecord;
  /**
   * Another key on the same terms; the old one expires after the overlap.
   * @param lifetimeMs of the new one; as long as that of the old one unless given.
   */
  rotate(named: string, overlapMs: number, lifetimeMs: number | undefined, now: number): Rotated;
  account(name: string): Account;
  accounts(): Account[];
  /** Limits that are not given stay; null takes one away. */
  setLimits(account: string, limits: Partial<Limits>): Account;
  close(): void;
};

/** @throws Failure as `openServeDatabase` does. */
export function openKeyring(dir: string): Keyring {
  const connection = openServeDatabase(dir);
  const keyring = guardedAll(connection.name, keyringOf(connection));
  return { ...keyring, close: () => void connection.close() };
}

function keyringOf(connection: Connection): Omit<Keyring, 'close'> {
  const keys = keyReader(connection);
  const limitsOf = limitsReader(connection);
  const accountNames = connection.prepare<[], string>('SELECT name FROM accounts ORDER BY name').pluck();
  const addKey = connection.prepare(
    `INSERT INTO keys (id, digest, name, account, scopes, addresses, created_at, expires_at)
     VALUES (@id, @digest, @name, @account, @scopes, @addresses, @createdAt, @expiresAt)`,
  );
  const addAccount = connection.prepare('INSERT INTO accounts (name, created_at) VALUES (?, ?)');
  const keepLimits = connection.prepare(
    'UPDATE accounts SET quota = @quota, rate = @rate, concurrency = @concurrency WHERE name = @account',
  );
  const revoke = connection.prepare('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL');
  const replace = connection.prepare('UPDATE keys SET expires_at = ?, rotated_to = ? WHERE id = ?');

  /** Reads and writes as if nobody else did meanwhile. */
  const atOnce = <Arguments extends unknown[], Result>(work: (...given: Arguments) => Result) => {
    const transaction = connection.transaction(work);
    return (...given: Arguments) => transaction.immediate(...given);
  };

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
    return { key, record: findKey(keys, id, now), limits: limitsOf(terms.account) ?? unlimited };
  }

  function keep(account: string, limits: Limits): Account {
    const { quota, rate, concurrency } = limits;
    keepLimits.run({
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
    create: atOnce((terms: KeyTerms, limits: Partial<Limits> | undefined, now: number) => {
      const isThere = limitsOf(terms.account) !== undefined;
      if (isThere && limits)
        throw new Failure(
          'usage',
          `account '${terms.account}' is there already, with limits of its own: market-mirror keys limits changes them`,
        );
      if (!isThere) {
        addAccount.run(terms.account, isoTime(now));
        keep(terms.account, { ...unlimited, ...limits });
      }
      return issue(terms, now);
    }),
    list: () => keys.all(),
    revoke: atOnce((named: string, now: number) => {
      const { id } = findKey(keys, named, now);
      revoke.run(isoTime(now), id);
      return findKey(keys, id, now);
    }),
    rotate: atOnce((named: string, overlapMs: number, lifetimeMs: number | undefined, now: number) => {
      const old = findKey(keys, named, now);
      refuseUnfit(old, now);
      const ends = old.expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(old.expiresAt);
      const lifetime = lifetimeMs ?? ends - Date.parse(old.createdAt);
      const expiresAt = Number.isFinite(lifetime) ? now + lifetime : null;
      const { name, account: itsAccount, scopes, addresses } = old;
      const issued = issue({ name, account: itsAccount, scopes, addresses, expiresAt }, now);
      replace.run(isoTime(Math.min(ends, now + overlapMs)), issued.record.id, old.id);
      return { ...issued, replaced: findKey(keys, old.id, now) };
    }),
    account,
    accounts: () => accountNames.all().map(account),
    setLimits: atOnce((name: string, limits: Partial<Limits>) =>
      keep(name, { ...account(name).limits, ...limits }),
    ),
  };
}

function refuseUnfit(key: KeyRecord, now: number): void {
  const status = statusOf(key, now);
  if (key.rotatedTo !== null)
    throw new Failure('usage', `key ${key.id} was rotated already: ${key.rotatedTo} took its place`);
  if (status !== 'active')
    throw new Failure('usage', `key ${key.id} is ${status}: create another by market-mirror keys create`);
}
