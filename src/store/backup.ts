/**
 * Copies of a database: made while others write, checked, and put in its place. A process may be killed between any two steps of a
 * restore: nothing is lost, and restoring again finishes the work.
 */

import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isoTime } from '../base/clock.ts';
import { makeFolder } from '../base/disk.ts';
import { Failure } from '../base/errors.ts';
import { reportProgress } from '../base/progress.ts';
import { type Connection, openReadOnly } from './connection.ts';
import { guarded, isBusy, storeFailure } from './failure.ts';
import { refuseNetworkFilesystem } from './filesystem.ts';
import { mirrorFile, openFit, renewEpoch } from './identity.ts';
import { describeHolder, isLock, tryLock } from './lock.ts';
import { dropUnsent } from './reports.ts';
import { lastSeqOf, noteRestoredSeq } from './sequence.ts';
import { Database } from './sqlite.ts';

/** Four megabytes: the thread is free again after some milliseconds. */
const PAGES_AT_ONCE = 1_000;

/**
 * Copies the database `file` into the empty file `copy`, every page as it is, so that the numbers of rows stay.
 * @throws Failure `disk`, or the signal's reason where that ends it.
 */
export async function copyDatabase(
  file: string,
  copy: string,
  signal: AbortSignal,
  pagesAtOnce = PAGES_AT_ONCE,
): Promise<void> {
  const source = openReadOnly(file);
  try {
    guarded(file, () => holdMoment(source));
    const pageBytes = source.pragma('page_size', { simple: true }) as number;
    await source.backup(copy, {
      progress({ totalPages, remainingPages }) {
        signal.throwIfAborted();
        const [done, total] = [totalPages - remainingPages, totalPages].map((pages) => pages * pageBytes);
        reportProgress({ what: 'copying', unit: 'bytes', done: done ?? 0, total: total ?? 0 });
        return pagesAtOnce;
      },
    });
  } catch (thrown) {
    const isFull = thrown instanceof Database.SqliteError && thrown.code === 'SQLITE_FULL';
    throw storeFailure(thrown, isFull ? copy : file);
  } finally {
    source.close();
  }
}

/** Reads one point in time: else every commit of another process would start the copy anew. */
function holdMoment(source: Database): void {
  source.exec('BEGIN');
  source.prepare('SELECT count(*) FROM sqlite_master').get();
}

/**
 * Checks a copy of `file`, and makes it a single file, readable in a folder where nothing may be written.
 * @throws Failure `disk` where it, and so the database, is damaged.
 */
export function sealCopy(file: string, copy: string): void {
  guarded(file, () => {
    const connection = new Database(copy, { fileMustExist: true });
    try {
      connection.pragma('journal_mode = delete');
      renewEpoch(connection);
      const found = connection.pragma('integrity_check(1)', { simple: true });
      if (found !== 'ok') throw new Database.SqliteError(String(found), 'SQLITE_CORRUPT');
    } finally {
      connection.close();
    }
  });
}

/** The database and SQLite's files beside it, which would spoil another database. */
const PARTS = ['', '-wal', '-journal'];
/** The index of the log, which SQLite makes anew. */
const INDEX = '-shm';

/**
 * Takes all locks of the mirror in `dir`, and makes the folder where there is none. Returns what releases them.
 * @param then what to do once the process at work is stopped.
 * @throws Failure `incomplete` where a process of ours is at work there, `config` for a folder of another user.
 */
export function holdFolder(dir: string, jobs: readonly string[], then: string): () => void {
  guarded(dir, () => makeFolder(dir, 0o700));
  refuseNetworkFilesystem(mirrorFile(dir));
  if (process.getuid?.() === 0 && statSync(dir).uid !== 0)
    throw new Failure('config', `${dir} belongs to another user: run this as that user (sudo -u)`);
  const releases: (() => void)[] = [];
  const release = () => {
    for (const releaseOne of releases.splice(0)) releaseOne();
  };
  const holders: Record<string, string> = { daemon: 'the daemon', serve: 'serve', migration: 'an upgrade' };
  for (const name of [...Object.keys(holders), ...jobs]) {
    const lock = tryLock(dir, name);
    if (isLock(lock)) releases.push(lock.release);
    else {
      release();
      const who = holders[name] ?? `a run of ${name}`;
      throw new Failure(
        'incomplete',
        `${dir}: ${who} (${describeHolder(lock)}) is at work there: stop it, then ${then}`,
      );
    }
  }
  return release;
}

/** @throws Failure `usage` for a file that is no backup of a mirror, `config` for one of a newer version, `disk` for a damaged one. */
export function refuseOtherThanBackup(backup: string, dir: string): void {
  const [source, mirror] = [backup, mirrorFile(dir)].map((file) =>
    guarded(file, () => statSync(file, { throwIfNoEntry: false })),
  );
  if (!source?.isFile()) throw new Failure('usage', `${backup}: there is no such file`);
  if (source.dev === mirror?.dev && source.ino === mirror.ino)
    throw new Failure('usage', `${backup} is the mirror itself: name a backup`);
  naming(backup, () => {
    const connection = new Database(backup, { readonly: true, fileMustExist: true });
    try {
      const isMirror = connection
        .prepare(`SELECT 1 FROM sqlite_master WHERE name = '__drizzle_migrations'`)
        .get();
      if (!isMirror) throw new Failure('usage', `${backup} is no backup of a mirror`);
    } finally {
      connection.close();
    }
    openFit(backup).connection.close();
  });
}

/**
 * Copies a backup beside the database `file`, changes the copy and checks it. Returns the copy.
 * @throws Failure `disk` where the backup is damaged, or the signal's reason where that ends it.
 */
export async function copyBeside(
  backup: string,
  file: string,
  signal: AbortSignal,
  change: (copy: string) => void = () => undefined,
): Promise<string> {
  const copy = `${file}.restoring`;
  removeParts(copy);
  try {
    guarded(copy, () => closeSync(openSync(copy, 'wx', 0o600)));
    await copyDatabase(backup, copy, signal);
    change(copy);
    naming(backup, () => sealCopy(backup, copy));
    sync(copy);
    return copy;
  } catch (thrown) {
    removeParts(copy);
    throw naming(backup, () => {
      throw thrown;
    });
  }
}

/**
 * Moves the database to the folder `keep`, and puts the copy in its place.
 * @param options.step called after each step, with what was done.
 * @throws Failure `incomplete` where another process has the database open.
 */
export function replaceDatabase(
  file: string,
  copy: string,
  { keep, step }: { keep: string; step: (done: string) => void },
): void {
  refuseUnlessFile(file);
  const alone = openAlone(file);
  try {
    guarded(file, () => {
      const old = PARTS.map((part) => `${file}${part}`).filter((path) => existsSync(path));
      if (old.length > 0) makeFolder(keep, 0o700);
      // The database first: without it, the files beside it keep every command from beginning another.
      for (const path of old) {
        const kept = join(keep, basename(path));
        renameSync(path, kept);
        step(`kept ${basename(path)}`);
      }
      rmSync(`${file}${INDEX}`, { force: true });
      if (old.length > 0) sync(keep);
      putWhereNothingIs(copy, file);
      sync(dirname(file));
      step(`put ${basename(file)} in place`);
    });
  } finally {
    alone?.close();
  }
}

/** @throws Failure `incomplete` where somebody else has the database open, such as a report. */
export function refuseOpenDatabase(file: string): void {
  refuseUnlessFile(file);
  openAlone(file)?.close();
}

/** Notes in the copy of a backup that it lacks the changes of the mirror `file` up to now. */
export function noteRestore(file: string, copy: string, now: number): void {
  const connection = new Database(copy, { fileMustExist: true });
  try {
    noteRestoredSeq(connection, Math.max(now, lastSeqIn(file)));
    dropUnsent(connection);
  } finally {
    connection.close();
  }
}

/** 0 where no mirror can be read. */
function lastSeqIn(file: string): number {
  try {
    const connection = openReadOnly(file);
    try {
      return lastSeqOf(connection);
    } finally {
      connection.close();
    }
  } catch {
    return 0;
  }
}

/** A new folder in `dir`, named by the time. */
export function folderToKeep(dir: string, now: number): string {
  const named = join(dir, `before-restore-${isoTime(now).replaceAll(':', '-')}`);
  for (let number = 1; ; number += 1) {
    const folder = number === 1 ? named : `${named}-${number}`;
    if (!existsSync(folder)) return folder;
  }
}

/**
 * Writes the log of a database into it, and keeps all others out until the connection is closed. A process that waits for it then
 * finds another file at its path, and gives up (`connection.ts`).
 * @returns undefined where there is no database, or a damaged one, which is kept as it is, with its log.
 */
function openAlone(file: string): Connection | undefined {
  if (!existsSync(file)) return undefined;
  return guarded(file, () => {
    // SQLite would remove the log of a file that looks empty to it.
    if (!hasHeader(file)) return undefined;
    const connection = new Database(file, { timeout: 0 });
    try {
      connection.pragma('locking_mode = exclusive');
      // SQLite may answer with the mode that stays instead of an error.
      const mode = connection.pragma('journal_mode = delete', { simple: true });
      if (mode !== 'delete') throw new Database.SqliteError(`the journal stays ${mode}`, 'SQLITE_BUSY');
      connection.exec('BEGIN EXCLUSIVE');
      return connection;
    } catch (thrown) {
      connection.close();
      if (isBusy(thrown))
        throw new Failure(
          'incomplete',
          `${file} is open in another process: end it (fuser -v ${file} names it), then restore`,
        );
      if (isDamage(thrown)) return undefined;
      throw thrown;
    }
  });
}

const HEADER = 'SQLite format 3\0';
const SMALLEST_DATABASE_BYTES = 512;

function hasHeader(file: string): boolean {
  const opened = openSync(file, 'r');
  try {
    const start = Buffer.alloc(SMALLEST_DATABASE_BYTES);
    return readSync(opened, start) === start.length && start.toString('latin1').startsWith(HEADER);
  } finally {
    closeSync(opened);
  }
}

/** Locks and log lie beside the path that is opened, so that must be the file's own. */
function refuseUnlessFile(file: string): void {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (!found || found.isFile()) return;
  const what = found.isSymbolicLink()
    ? 'a symbolic link: restore where it leads to'
    : 'no file: move it away';
  throw new Failure('disk', `${file} is ${what}`);
}

/** A link never replaces anything, where a rename does; not every file system has links. */
function putWhereNothingIs(copy: string, file: string): void {
  try {
    linkSync(copy, file);
    rmSync(copy);
  } catch (thrown) {
    if (existsSync(file)) throw thrown;
    renameSync(copy, file);
  }
}

const isDamage = (thrown: unknown) =>
  thrown instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(thrown.code);

/** Runs `work` on a backup; its damage becomes a Failure that names the backup. */
function naming<T>(backup: string, work: () => T): T {
  try {
    return guarded(backup, work);
  } catch (thrown) {
    const { cause } = thrown as Error;
    if (!isDamage(cause)) throw thrown;
    throw new Failure(
      'disk',
      `${backup} is damaged, or no backup of a mirror: restore another one; nothing was changed`,
      { cause },
    );
  }
}

/** Removes a copy of `copyBeside` that was not put in place. */
export function discardCopy(file: string): void {
  removeParts(`${file}.restoring`);
}

function removeParts(file: string): void {
  for (const part of [...PARTS, INDEX]) rmSync(`${file}${part}`, { force: true });
}

function sync(path: string): void {
  const opened = openSync(path, 'r');
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}
