/** Which schema a database has, against that of this code. */

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Failure } from '../errors.ts';
import { type Connection, openReadOnly } from './connection.ts';
import { guarded } from './failure.ts';

export const journalFile = fileURLToPath(import.meta.resolve('#drizzle/meta/_journal.json'));

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
        `${file}: written by a newer market-mirror (it is ahead by ${ahead.length}); upgrade this one`,
      );
  } finally {
    connection.close();
  }
}

export function isUpToDate(connection: Connection): boolean {
  return appliedMigrations(connection).length >= readJournal().entries.length;
}

export function appliedMigrations(connection: Connection): number[] {
  const exists = connection
    .prepare(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '__drizzle_migrations'`)
    .get();
  if (!exists) return [];
  return connection.prepare('SELECT created_at FROM __drizzle_migrations').pluck().all().map(Number);
}

function readJournal(): Journal {
  return JSON.parse(readFileSync(journalFile, 'utf8')) as Journal;
}
