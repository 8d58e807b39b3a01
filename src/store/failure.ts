/** Errors of the disk and of SQLite as Failures that say what to do. */

import { dirname } from 'node:path';
import { diskTrouble } from '../base/disk.ts';
import { Failure } from '../base/errors.ts';
import { Database } from './sqlite.ts';

/** What to do, by the code or its beginning: the first that fits counts. */
const ADVICE_ON_SQLITE: Record<string, string> = {
  SQLITE_BUSY: 'another process keeps the database busy; try again',
  SQLITE_LOCKED: 'another process keeps the database busy; try again',
  SQLITE_FULL: 'the disk is full: free space (df), then run again',
  SQLITE_READONLY_DBMOVED:
    'the database was moved or deleted while it was in use: put it back, then start again',
  SQLITE_READONLY: 'the database is read-only: make it and its folder writable for this user',
  SQLITE_PERM: 'the database may not be opened: make it and its folder accessible for this user',
  SQLITE_CANTOPEN:
    'the database cannot be opened: check that its folder exists and is writable for this user, and that files are not used up (df -i, ulimit -n)',
  SQLITE_IOERR: 'the disk is full, over quota or broken: see df, quota and dmesg',
  SQLITE_CORRUPT: 'the database is damaged: restore a backup (docs/operations.md), do not delete it before',
  SQLITE_NOTADB: 'the file is not a database: move it away, or restore a backup (docs/operations.md)',
};

/** An error of SQLite or of the file system as a Failure that says what to do; any other value as it is. */
export function storeFailure(thrown: unknown, file: string): unknown {
  if (thrown instanceof Failure) return thrown;
  const advice =
    thrown instanceof Database.SqliteError
      ? sqliteAdvice(thrown.code)
      : diskTrouble(thrown, dirname(file))?.advice;
  if (!advice) return thrown;
  const kind = isBusy(thrown) ? 'incomplete' : 'disk';
  return new Failure(kind, `${file}: ${advice}`, { cause: thrown });
}

const sqliteAdvice = (code: string): string | undefined =>
  Object.entries(ADVICE_ON_SQLITE).find(([name]) => code.startsWith(name))?.[1];

/** Whether another process keeps the database from being written. */
export function isBusy(thrown: unknown): boolean {
  return thrown instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(thrown.code);
}

/** The same functions, each run by `guarded`. */
export function guardedAll<T extends Record<string, (...values: never[]) => unknown>>(
  file: string,
  functions: T,
): T {
  const wrap =
    (work: (...values: unknown[]) => unknown) =>
    (...values: unknown[]) =>
      guarded(file, () => work(...values));
  const wrapped = Object.entries(functions).map(([name, work]) => [name, wrap(work as never)]);
  return Object.fromEntries(wrapped) as T;
}

/** Runs `work`, whose errors of the disk become Failures. */
export function guarded<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw storeFailure(thrown, file);
  }
}
