/** Whether this code can use a database: which schema it has. */

import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Failure } from '../errors.ts';
import { type Connection, openReadOnly } from './connection.ts';
import { guarded } from './failure.ts';
import { isNamed, nameFile } from './identity.ts';

/** The list of migrations, in the folder that has them. */
export const journalFile = fileURLToPath(import.meta.resolve('#drizzle/meta/_journal.json'));

type Version = {
  /** How many migrations the database has had; 0 for an empty file. */
  migrations: number;
  /** False where the next writer migrates it first. */
  isCurrent: boolean;
};

/**
 * Reads the version of a database, and nothing else.
 * @throws Failure `config` for one that is newer or that no release has made, `disk` for one that lies in a mirror's place
 * and holds none.
 */
export function versionOf(connection: Connection): Version {
  const file = connection.name;
  return guarded(file, () => {
    const has = (condition: string) =>
      connection.prepare(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND ${condition}`).get() !==
      undefined;
    const isMirror = has(`name = '__drizzle_migrations'`);
    if (isNamed(file) && !isMirror)
      throw new Failure(
        'disk',
        `${file} is not the mirror that was here: move it away, and put that one back or restore a backup`,
      );
    const applied = isMirror
      ? connection.prepare('SELECT created_at FROM __drizzle_migrations').pluck().all().map(Number)
      : [];
    const { entries } = JSON.parse(readFileSync(journalFile, 'utf8')) as { entries: { when: number }[] };
    const known = entries.map(({ when }) => when);
    const isUnreleased = applied.length > 0 ? Math.min(...applied) < Math.min(...known) : has('true');
    if (isUnreleased) throw unreleased(file);
    const ahead = applied.filter((when) => when > Math.max(...known)).length;
    if (ahead > 0)
      throw new Failure(
        'config',
        `${file}: written by a newer market-mirror (it is ahead by ${ahead}); upgrade this one`,
      );
    return { migrations: applied.length, isCurrent: applied.length >= known.length };
  });
}

/** Where one of the files stayed, the mirror would seem to be gone. */
function unreleased(file: string): Failure {
  const parts = [file, `${file}-wal`, nameFile(dirname(file))].filter((part) => existsSync(part));
  return new Failure(
    'config',
    `${file} was made by a development version: move ${parts.map((part) => basename(part)).join(' and ')} aside, the next sync makes a new one; sqlite3 still reads it`,
  );
}

export const outdated = (file: string) =>
  new Failure(
    'incomplete',
    `${file} was left by an older market-mirror: the next sync or start brings it up to date`,
  );

/**
 * Opens a database for reading, and leaves one untouched that this code cannot use.
 * @param lockWaitMs as of `openReadOnly`.
 * @throws Failure as `versionOf` does.
 */
export function openFit(file: string, lockWaitMs?: number): { connection: Connection; version: Version } {
  const connection = openReadOnly(file, lockWaitMs);
  try {
    return { connection, version: versionOf(connection) };
  } catch (thrown) {
    connection.close();
    throw thrown;
  }
}
