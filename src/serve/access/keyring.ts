/** How keys and the limits of accounts are managed: what `market-mirror keys` does. */

import { isoTime } from '../../base/clock.ts';
import { Failure } from '../../base/errors.ts';
import { nearest } from '../../base/near.ts';
import { type Connection, guardedAll } from '../../store/sqlite-files.ts';
import { openServeDatabase } from './database.ts';
import {
  type Account,
  digestOf,
  type KeyRecord,
  keyReader,
  limitsReader,
  newKey,
  newKeyId,
  statusOf,
} from './keys.ts';
import { type Limits, renderQuota, renderRate, unlimited } from './limits.ts';

export type KeyTerms = Pick<KeyRecord, 'name' | 'account' | 'scopes' | 'addresses'> & {
  /** Epoch milliseconds; null for a key that does not expire. */
  readonly expiresAt: number | null;
};

/** The key itself is given here and nowhere else. */
export type Issued = { readonly key: string; readonly record: KeyRecord; readonly limits: Limits };

/** And the key that it replaces. */
export type Rotated = Issued & { readonly replaced: KeyRecord };

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
