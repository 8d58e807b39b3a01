/** Which schema a database has, against that of this code. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Failure } from '../../errors.ts';
import { type Connection, openReadOnly } from './connection.ts';
import { guarded } from './failure.ts';
import { isNamed } from './identity.ts';

export const journalFile = fileURLToPath(import.meta.resolve('#drizzle/meta/_journal.json'));

type Journal = { entries: { when: number }[] };

/**
 * Opens a database for reading, and leaves one untouched that this code cannot use.
 * @throws Failure `config` for one that is newer, `disk` for one that lies in a mirror's place and holds none.
 */
export function openFit(file: string): Connection {
  const connection = openReadOnly(file);
  try {
    const newest = Math.max(...readJournal().entries.map((entry) => entry.when));
    if (isNamed(file) && !guarded(file, () => isMirror(connection)))
      throw new Failure(
        'disk',
        `${file} is not the mirror that was here: move it away, and put that one back or restore a backup`,
      );
    const ahead = guarded(file, () => appliedMigrations(connection)).filter((when) => when > newest);
    if (ahead.length > 0)
      throw new Failure(
        'config',
        `${file}: written by a newer market-mirror (it is ahead by ${ahead.length}); upgrade this one`,
      );
    return connection;
  } catch (thrown) {
    connection.close();
    throw thrown;
  }
}

/** @throws Failure as `openFit` does. */
export function refuseUnfit(file: string): void {
  openFit(file).close();
}

export const outdated = (file: string) =>
  new Failure(
    'incomplete',
    `${file} was left by an older market-mirror: the next sync or start brings it up to date`,
  );

export function isUpToDate(connection: Connection): boolean {
  return appliedMigrations(connection).length >= readJournal().entries.length;
}

export function appliedMigrations(connection: Connection): number[] {
  if (!isMirror(connection)) return [];
  return connection.prepare('SELECT created_at FROM __drizzle_migrations').pluck().all().map(Number);
}

function isMirror(connection: Connection): boolean {
  const list = `SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '__drizzle_migrations'`;
  return connection.prepare(list).get() !== undefined;
}

function readJournal(): Journal {
  return JSON.parse(readFileSync(journalFile, 'utf8')) as Journal;
}
