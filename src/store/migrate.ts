/** Brings a database to the schema of this code, or refuses one that is ahead of it. */

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { migrate } from 'drizzle-orm/better-sqlite3/migrator';
import { Failure } from '../errors.ts';
import { type Connection, openReadOnly } from './connection.ts';
import { guarded } from './failure.ts';
import { isLock, tryLock } from './lock.ts';

const journalFile = fileURLToPath(import.meta.resolve('#drizzle/meta/_journal.json'));

type Journal = { entries: { when: number }[] };

/** @throws Failure `config` for a database newer than this code, which is left untouched. */
export function refuseNewer(file: string): void {
  if (!existsSync(file)) return;
  const connection = openReadOnly(file);
  try {
    const newest = Math.max(...readJournal().entries.map((entry) => entry.when));
    const ahead = guarded(file, () => appliedMigrations(connection)).filter((when) => when > newest);
    if (ahead.length > 0)
      throw new Failure(
        'config',
        `${file}: written by a newer market-mirror (${ahead.length} migrations ahead); upgrade this one`,
      );
  } finally {
    connection.close();
  }
}

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

// A rebuilt table would empty its children by ON DELETE CASCADE, and the pragma is void inside a transaction.
function applyMigrations(connection: Connection): void {
  connection.pragma('foreign_keys = OFF');
  migrate(drizzle(connection), { migrationsFolder: dirname(dirname(journalFile)) });
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

function isUpToDate(connection: Connection): boolean {
  return appliedMigrations(connection).length >= readJournal().entries.length;
}

function appliedMigrations(connection: Connection): number[] {
  const exists = connection
    .prepare(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '__drizzle_migrations'`)
    .get();
  if (!exists) return [];
  return connection.prepare('SELECT created_at FROM __drizzle_migrations').pluck().all().map(Number);
}

function readJournal(): Journal {
  return JSON.parse(readFileSync(journalFile, 'utf8')) as Journal;
}
