/** A backup of `serve.db` before it takes the place of the present one: what was revoked since stays revoked. */

import { existsSync } from 'node:fs';
import { Failure } from '../../errors.ts';
import { type Connection, guarded, openConnection, openReadOnly } from '../../store/sqlite-files.ts';
import { isNew, serveFile } from './database.ts';

export type KeyName = { id: string; name: string };

/** What the backup changes; members are added, never removed or changed in meaning. */
export type RestoredKeys = {
  /** Keys of the backup. */
  keys: number;
  /** Valid in the backup, revoked since: they stay revoked. */
  revoked: KeyName[];
  /** With a later end in the backup than since, when they were rotated: they keep the earlier end. */
  rotated: KeyName[];
  /** Created since: they are unknown now, and refused. */
  removed: KeyName[];
  /** In the backup alone: they are known again. */
  added: KeyName[];
  /** Accounts that have other limits in the backup: its limits count. */
  limits: { account: string; now: Limits; before: Limits }[];
};

type Limits = { quota: string | null; rate: string | null; concurrency: number | null };
type Key = KeyName & { revokedAt: string | null; expiresAt: string | null };

/**
 * Alters the file `copy`, a copy of the backup. Links to the page and their sessions do not come back either.
 * @returns what changes where it takes the place of the one in `dir`.
 * @throws Failure `usage` where it is none of ours, `disk` where the present one cannot be read: nobody knows what was revoked.
 */
export function keepRevocations(copy: string, dir: string): RestoredKeys {
  const connection = openConnection(copy);
  try {
    return guarded(copy, () => {
      if (isNew(connection))
        throw new Failure('usage', 'the backup holds no keys: restore without --with-keys');
      const known = readKeys(connection);
      const present = presentIn(dir);
      const pairs = known.flatMap((key) => {
        const since = present.keys.find(({ id }) => id === key.id);
        return since ? [{ key, since }] : [];
      });
      const revoked = pairs.filter(({ key, since }) => !key.revokedAt && since.revokedAt);
      const rotated = pairs.filter(
        ({ key, since }) => since.expiresAt && (!key.expiresAt || since.expiresAt < key.expiresAt),
      );
      const update = connection.prepare('UPDATE keys SET revoked_at = ?, expires_at = ? WHERE id = ?');
      connection.transaction(() => {
        for (const { key, since } of [...revoked, ...rotated])
          update.run(since.revokedAt ?? key.revokedAt, since.expiresAt ?? key.expiresAt, key.id);
        connection.exec('DELETE FROM page_tokens');
      })();
      const others = (keys: readonly Key[], than: readonly Key[]) =>
        keys.filter(({ id }) => !than.some((key) => key.id === id)).map(nameOf);
      return {
        keys: known.length,
        revoked: revoked.map(({ key }) => nameOf(key)),
        rotated: rotated.map(({ key }) => nameOf(key)),
        removed: others(present.keys, known),
        added: others(known, present.keys),
        limits: readLimits(connection).flatMap(({ account, ...now }) => {
          const before = present.limits.find((other) => other.account === account);
          if (!before || JSON.stringify(before) === JSON.stringify({ account, ...now })) return [];
          const { quota, rate, concurrency } = before;
          return [{ account, now, before: { quota, rate, concurrency } }];
        }),
      };
    });
  } finally {
    connection.close();
  }
}

/** The keys that count now; none where nobody ever served from there. */
function presentIn(dir: string) {
  const file = serveFile(dir);
  if (!existsSync(file)) return { keys: [], limits: [] };
  const connection = openReadOnly(file);
  try {
    return guarded(file, () =>
      isNew(connection)
        ? { keys: [], limits: [] }
        : { keys: readKeys(connection), limits: readLimits(connection) },
    );
  } finally {
    connection.close();
  }
}

const readKeys = (connection: Connection) =>
  connection
    .prepare<[], Key>(
      'SELECT id, name, revoked_at AS revokedAt, expires_at AS expiresAt FROM keys ORDER BY seq',
    )
    .all();

const readLimits = (connection: Connection) =>
  connection
    .prepare<[], Limits & { account: string }>(
      'SELECT name AS account, quota, rate, concurrency FROM accounts ORDER BY name',
    )
    .all();

const nameOf = ({ id, name }: Key): KeyName => ({ id, name });
