/** The disk's errors, SQLite's among them, in the words of ours. */

import { Failure } from '../errors.ts';
import { Database } from './sqlite.ts';

const sqlite: Record<string, string> = {
  SQLITE_BUSY: 'another process keeps the database busy; try again',
  SQLITE_LOCKED: 'another process keeps the database busy; try again',
  SQLITE_FULL: 'the disk is full: free space, then run again; nothing already mirrored is lost',
  SQLITE_READONLY: 'the database is read-only: make it and its folder writable for this user',
  SQLITE_PERM: 'the database may not be opened: make it and its folder accessible for this user',
  SQLITE_CANTOPEN:
    'the database cannot be opened: check that its folder exists and is writable for this user',
  SQLITE_IOERR: 'the disk reports an error: check the device',
  SQLITE_CORRUPT: 'the database is damaged: restore a backup (docs/operations.md), do not delete it before',
  SQLITE_NOTADB: 'the file is not a database: move it away, or restore a backup (docs/operations.md)',
};

const filesystem: Record<string, string> = {
  EACCES: 'may not be written by this user: change its owner or mode',
  EPERM: 'may not be written by this user: change its owner or mode',
  EROFS: 'lies on a read-only file system: choose another folder',
  ENOSPC: 'lies on a full disk: free space, then run again',
  ENOENT: 'cannot be created there: check the path',
  ENOTDIR: 'lies below a file: check the path',
  EISDIR: 'holds a folder where a file belongs: move it away',
  ENAMETOOLONG: 'is too long a path: choose another folder',
  EIO: 'cannot be written: the disk reports an error',
};

/** An error of SQLite or of the file system as a Failure that says what to do; any other value as it is. */
export function storeFailure(thrown: unknown, file: string): unknown {
  if (thrown instanceof Failure) return thrown;
  const { code = '' } = (thrown ?? {}) as { code?: string };
  const advice = thrown instanceof Database.SqliteError ? sqliteAdvice(code) : filesystem[code];
  if (!advice) return thrown;
  const kind = isBusy(thrown) ? 'incomplete' : 'disk';
  return new Failure(kind, `${file}: ${advice}`, { cause: thrown });
}

/** Whether another process keeps the database from being written. */
export function isBusy(thrown: unknown): boolean {
  return thrown instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(thrown.code);
}

function sqliteAdvice(code: string): string | undefined {
  return Object.entries(sqlite).find(([name]) => code.startsWith(name))?.[1];
}

/** The same functions, with the disk's errors turned into ours. */
export function guardedAll<T extends Record<string, (...given: never[]) => unknown>>(
  file: string,
  functions: T,
): T {
  const wrap =
    (work: (...given: unknown[]) => unknown) =>
    (...given: unknown[]) =>
      guarded(file, () => work(...given));
  const wrapped = Object.entries(functions).map(([name, work]) => [name, wrap(work as never)]);
  return Object.fromEntries(wrapped) as T;
}

/** Runs `work`, with the disk's errors turned into ours. */
export function guarded<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw storeFailure(thrown, file);
  }
}
