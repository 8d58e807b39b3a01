/** Opens the mirror: every connection gets the same pragmas, which are set and then read back. */

import { statSync } from 'node:fs';
import { Failure } from '../base/errors.ts';
import { guarded } from './failure.ts';
import { refuseNetworkFilesystem } from './filesystem.ts';
import { Database } from './sqlite.ts';

export type Connection = Database;

/** SQLite's number for `full`, which keeps every commit through a power cut. */
const SYNCHRONOUS_FULL = 2;

/** A walk touches most pages once, and the system caches the others. SQLite's own is 2 MB, that of better-sqlite3 16. */
const CACHE_KIB = 4_096;

/** A commit that finds so many pages in the log copies them into the database. */
const CHECKPOINT_PAGES = 4_000;

/** A log is cut back to this when it begins anew. */
const LONGEST_LOG_AT_REST_BYTES = 16 * 1024 ** 2;

/** Only a long reader leaves a log of more bytes. */
export const LONG_LOG_BYTES = 64_000_000;

/** How long a connection waits for another process that keeps the database locked. */
const LOCK_WAIT_MS = 5_000;

/**
 * Opens the mirror for writing. Commits survive a power cut.
 * @param refuse reads the file before anything is written, and throws where it must stay as it is.
 */
export function openConnection(
  file: string,
  lockWaitMs = LOCK_WAIT_MS,
  refuse?: (connection: Connection) => void,
): Connection {
  return guarded(file, () => {
    refuseNetworkFilesystem(file);
    const before = inodeOf(file);
    const connection = new Database(file, { timeout: lockWaitMs });
    try {
      refuse?.(connection);
      refuseReplaced(connection, before);
      setPragmas(connection, {
        journal_mode: 'wal',
        synchronous: SYNCHRONOUS_FULL,
        foreign_keys: 1,
        trusted_schema: 0,
        cache_size: -CACHE_KIB,
        wal_autocheckpoint: CHECKPOINT_PAGES,
        journal_size_limit: LONGEST_LOG_AT_REST_BYTES,
      });
    } catch (thrown) {
      connection.close();
      throw thrown;
    }
    return connection;
  });
}

/**
 * Opens the mirror for reading only; the file must exist.
 * @param lockWaitMs of a connection that stays open, and so must not keep others out; it waits long unless given.
 */
export function openReadOnly(file: string, lockWaitMs?: number): Connection {
  return guarded(file, () => {
    const options = { fileMustExist: true, timeout: lockWaitMs ?? LOCK_WAIT_MS };
    const before = inodeOf(file);
    try {
      return readable(new Database(file, { ...options, readonly: true }), before);
    } catch (thrown) {
      if (lockWaitMs !== undefined || !isShortOfIndex(thrown)) throw thrown;
      return readable(new Database(file, options), before, { locking_mode: 'exclusive' });
    }
  });
}

/** The first value of what a query finds; undefined where that is nothing, or null. */
export function valueIn<Value extends string | number>(
  connection: Connection,
  query: string,
  ...values: (string | number | Record<string, string>)[]
): Value | undefined {
  return (
    connection
      .prepare<unknown[], Value | null>(query)
      .pluck()
      .get(...values) ?? undefined
  );
}

/** The size of the write-ahead log of a database. */
export const logBytes = (file: string): number =>
  statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;

/** Empties the write-ahead log, unless others are at work: nobody is kept waiting. */
export function emptyLog(connection: Connection): void {
  const waitMs = connection.pragma('busy_timeout', { simple: true });
  connection.pragma('busy_timeout = 0');
  try {
    connection.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    connection.pragma(`busy_timeout = ${waitMs}`);
  }
}

/** Lets an open connection read its file anew after an error: SQLite keeps even damaged pages until another connection commits. */
export function forgetPages(connection: Connection): void {
  connection.pragma('shrink_memory');
}

/** The first connection makes the index of the log, for which a full disk has no room. An exclusive one keeps it in memory. */
function isShortOfIndex(thrown: unknown): boolean {
  return thrown instanceof Database.SqliteError && /^SQLITE_IOERR_SHM(OPEN|SIZE)$/.test(thrown.code);
}

function readable(
  connection: Connection,
  before: string | undefined,
  pragmas: Record<string, string> = {},
): Connection {
  try {
    setPragmas(connection, { ...pragmas, query_only: 1, trusted_schema: 0 });
    refuseReplaced(connection, before);
    return connection;
  } catch (thrown) {
    connection.close();
    throw thrown;
  }
}

// better-sqlite3 opens with `synchronous` full on a new file but normal on an old one, so nothing is assumed.
function setPragmas(connection: Connection, pragmas: Record<string, string | number>): void {
  for (const [name, wanted] of Object.entries(pragmas)) {
    connection.pragma(`${name} = ${wanted}`);
    const actual = connection.pragma(name, { simple: true });
    if (actual !== wanted)
      throw new Failure(
        'disk',
        `${connection.name}: SQLite did not take ${name} = ${wanted} (it is ${actual})`,
      );
  }
}

function inodeOf(file: string): string | undefined {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
}

/**
 * Reads the file for the first time, which waits for a restore (`replaceDatabase`). A connection to the old file would take the new
 * one's log for its own.
 */
function refuseReplaced(connection: Connection, before: string | undefined): void {
  connection.prepare('SELECT count(*) FROM sqlite_master').get();
  if (before !== undefined && inodeOf(connection.name) !== before)
    throw new Failure('incomplete', `${connection.name} was replaced just now, as by restore: try again`);
}
