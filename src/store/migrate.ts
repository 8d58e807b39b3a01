/** Brings a database to the schema of this code. */

import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { migrate } from 'drizzle-orm/better-sqlite3/migrator';
import { Failure } from '../errors.ts';
import { type Connection, openConnection, openReadOnly } from './connection.ts';
import { copyDatabase, sealCopy } from './copy.ts';
import { guarded } from './failure.ts';
import { hasMirror, mirrorFile } from './identity.ts';
import { isLock, tryLock } from './lock.ts';
import { appliedMigrations, isUpToDate, journalFile, outdated, refuseUnfit } from './version.ts';

/**
 * Migrates the mirror in `dir`, where an older program left one, after a checked copy of it.
 * @throws Failure `config` for a database newer than this code, `disk` for one that is gone or cannot be used,
 * `incomplete` where another process is at it.
 */
export async function upgradeStore(dir: string): Promise<void> {
  if (!hasMirror(dir)) return;
  const file = mirrorFile(dir);
  refuseUnfit(file);
  if (migrationsDone(file) === 0 || isCurrent(file)) return;
  const lock = holdMigration(file);
  try {
    if (isCurrent(file)) return;
    await keepCopy(file);
    const connection = openConnection(file);
    try {
      guarded(file, () => applyMigrations(connection));
    } finally {
      connection.close();
    }
  } finally {
    lock.release();
  }
}

/** Makes the tables of a new database. @throws Failure `incomplete` where it is no new one, or another process is at it. */
export function createTables(connection: Connection): void {
  const file = connection.name;
  if (isUpToDate(connection)) return;
  const lock = holdMigration(file);
  try {
    if (isUpToDate(connection)) return;
    if (appliedMigrations(connection).length > 0) throw outdated(file);
    applyMigrations(connection);
  } finally {
    lock.release();
  }
}

function holdMigration(file: string) {
  const lock = tryLock(dirname(file), 'migration');
  if (isLock(lock)) return lock;
  throw new Failure('incomplete', `${file}: process ${lock.holder} is migrating it; try again`);
}

// A rebuilt table takes the name of the one that it replaces only where no view asks for that meanwhile. The pragma is void
// inside a transaction.
function applyMigrations(connection: Connection): void {
  connection.pragma('legacy_alter_table = ON');
  migrate(drizzle(connection), { migrationsFolder: dirname(dirname(journalFile)) });
  connection.pragma('legacy_alter_table = OFF');
  if (!isUpToDate(connection)) throw new Failure('bug', `${connection.name}: some migrations were skipped`);
}

async function keepCopy(file: string): Promise<void> {
  const copy = join(dirname(file), `mirror.before-migration-${migrationsDone(file) + 1}.db`);
  rmSync(copy, { force: true });
  try {
    await copyDatabase(file, copy, new AbortController().signal);
    sealCopy(file, copy);
  } catch (thrown) {
    rmSync(copy, { force: true });
    throw thrown;
  }
}

const migrationsDone = (file: string) => reading(file, (connection) => appliedMigrations(connection).length);
const isCurrent = (file: string) => reading(file, isUpToDate);

function reading<T>(file: string, look: (connection: Connection) => T): T {
  const connection = openReadOnly(file);
  try {
    return guarded(file, () => look(connection));
  } finally {
    connection.close();
  }
}
