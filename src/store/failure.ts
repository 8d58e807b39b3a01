/** SQLite's errors in the words of ours. */

import Database from 'better-sqlite3';
import { Failure } from '../errors.ts';

const disk: Record<string, string> = {
  SQLITE_FULL: 'the disk is full: free space, then run again; nothing already mirrored is lost',
  SQLITE_READONLY: 'the database is read-only: make it and its folder writable for this user',
  SQLITE_PERM: 'the database may not be opened: make it and its folder accessible for this user',
  SQLITE_CANTOPEN:
    'the database cannot be opened: check that its folder exists and is writable for this user',
  SQLITE_IOERR: 'the disk reports an error: check the device',
  SQLITE_CORRUPT: 'the database is damaged: restore a backup (docs/operations.md), do not delete it before',
  SQLITE_NOTADB: 'the file is not a database: move it away, or restore a backup (docs/operations.md)',
};

/** A SQLite error as a Failure that says what to do; any other value as it is. */
export function storeFailure(thrown: unknown, file: string): unknown {
  if (!(thrown instanceof Database.SqliteError)) return thrown;
  if (thrown.code.startsWith('SQLITE_BUSY') || thrown.code.startsWith('SQLITE_LOCKED'))
    return new Failure('incomplete', `${file}: another process keeps the database busy; try again`, {
      cause: thrown,
    });
  const advice = Object.entries(disk).find(([code]) => thrown.code.startsWith(code))?.[1];
  return advice ? new Failure('disk', `${file}: ${advice}`, { cause: thrown }) : thrown;
}

/** Runs `work`, with SQLite's errors turned into ours. */
export function guarded<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw storeFailure(thrown, file);
  }
}
