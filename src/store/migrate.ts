/** Brings a database to the schema of this code. */

import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { migrate } from 'drizzle-orm/better-sqlite3/migrator';
import { Failure } from '../errors.ts';
import type { Connection } from './connection.ts';
import { guarded } from './failure.ts';
import { isLock, tryLock } from './lock.ts';
import { appliedMigrations, isUpToDate, journalFile } from './version.ts';

/** Applies what is missing, in one transaction, after a copy of a database that already holds something. */
export function migrateToLatest(connection: Connection): void {
  const file = connection.name;
  guarded(file, () => {
    if (isUpToDate(connection)) return;
    const lock = tryLock(dirname(file), 'migration');
    if (!isLock(lock))
      throw new Failure('incomplete', `${file}: process ${lock.holder} is migrating it; try again`);
    try {
      if (isUpToDate(connection)) return;
      keepCopy(connection);
      applyMigrations(connection);
    } finally {
      lock.release();
    }
  });
}

// A rebuilt table would empty its children by ON DELETE CASCADE, and take the name of the one that it replaces only
// where no view asks for that meanwhile. The pragmas are void inside a transaction.
function applyMigrations(connection: Connection): void {
  connection.pragma('foreign_keys = OFF');
  connection.pragma('legacy_alter_table = ON');
  migrate(drizzle(connection), { migrationsFolder: dirname(dirname(journalFile)) });
  connection.pragma('legacy_alter_table = OFF');
  connection.pragma('foreign_keys = ON');
  if (!isUpToDate(connection)) throw new Failure('bug', `${connection.name}: some migrations were skipped`);
}

function keepCopy(connection: Connection): void {
  const applied = appliedMigrations(connection).length;
  if (applied === 0) return;
  const copy = join(dirname(connection.name), `mirror.before-migration-${applied + 1}.db`);
  rmSync(copy, { force: true });
  connection.prepare('VACUUM INTO ?').run(copy);
}
