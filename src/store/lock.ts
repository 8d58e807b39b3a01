/** Locks that the kernel releases when their holder dies: SQLite's own, on an empty database file each. */

import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolder } from '../base/disk.ts';
import { Failure } from '../base/errors.ts';
import type { Job } from '../job.ts';
import type { Connection } from './connection.ts';
import { guarded, isBusy } from './failure.ts';
import { Database } from './sqlite.ts';

export type Lock = {
  /** Shows a text to readers of the folder while the lock is held; null for none. Does nothing after `release`. */
  note(word: string | null): void;
  release(): void;
};
/** The pid of the process that holds a lock, where it can be read. */
type Holder = { holder: number | null };

/** A note takes so many bytes at least, so that it can be changed on a full disk. */
const NOTE_BYTES = 2_048;

/** How long a lock is waited for while a reader only looks at it: see `isTaken`. */
const LOOK_WAIT_MS = 1_000;

/** Takes the lock `name` in `dir`, or says which process holds it. */
export function tryLock(dir: string, name: string): Lock | Holder {
  const file = join(dir, 'locks', name);
  return guarded(file, () => {
    makeFolder(dirname(file), 0o700);
    const connection = new Database(file, { timeout: 0 });
    try {
      if (take(connection) || (!isTaken(connection) && take(connection, LOOK_WAIT_MS)))
        return hold(file, connection);
    } catch (thrown) {
      connection.close();
      throw thrown;
    }
    connection.close();
    return { holder: readPid(file) };
  });
}

/**
 * Takes the lock of a job: no two processes walk it at once.
 * @throws Failure `incomplete` where another process holds it, saying what that does.
 */
export function lockJob(dir: string, { name }: Job, does: string): Lock {
  const lock = tryLock(dir, name);
  if (isLock(lock)) return lock;
  throw new Failure('incomplete', `${name}: ${describeHolder(lock)} ${does}`);
}

/** The lock that a `sync` has on a job while it is at work on it or waits; it keeps nobody off. */
export const syncLock = (job: string) => `sync-${job}`;

/** For people. A holder that has just taken the lock, or lets it go, has no pid to read. */
export function describeHolder({ holder }: Holder): string {
  return holder === null ? 'another process' : `process ${holder}`;
}

/** Returns whether the connection holds the lock now. */
function take(connection: Connection, waitMs = 0): boolean {
  connection.pragma(`busy_timeout = ${waitMs}`);
  return !meetsLock(() => connection.exec('BEGIN EXCLUSIVE'));
}

/** Whether somebody holds the lock. Takes a shared lock for a moment; a process that takes the lock just then tries again. */
function isTaken(connection: Connection): boolean {
  return meetsLock(() => connection.prepare('SELECT count(*) FROM sqlite_master').get());
}

function meetsLock(work: () => unknown): boolean {
  try {
    work();
    return false;
  } catch (thrown) {
    if (isBusy(thrown)) return true;
    throw thrown;
  }
}

function hold(file: string, connection: Connection): Lock {
  // A holder that was killed may have left one.
  rmSync(`${file}.note`, { force: true });
  writeFileSync(`${file}.pid`, `${process.pid}\n`, { mode: 0o600 });
  let note: number | undefined;
  let noteBytes = NOTE_BYTES;
  let isReleased = false;
  return {
    note(word) {
      // Another file may have the number of the closed one by now.
      if (isReleased) return;
      note ??= openSync(`${file}.note`, 'w', 0o600);
      // Spaces take the place of a longer note before.
      noteBytes = Math.max(noteBytes, Buffer.byteLength(word ?? ''));
      const bytes = Buffer.alloc(noteBytes, ' ');
      bytes.write(word ?? '');
      writeSync(note, bytes, 0, noteBytes, 0);
    },
    release() {
      isReleased = true;
      for (const kind of ['note', 'pid']) rmSync(`${file}.${kind}`, { force: true });
      if (note !== undefined) closeSync(note);
      connection.close();
    },
  };
}

export function isLock(lock: Lock | Holder): lock is Lock {
  return 'release' in lock;
}

/** The process that holds the lock `name`, or null. A pid alone would not tell: it may be another process's by now. */
export function livingHolder(dir: string, name: string): number | null {
  const file = join(dir, 'locks', name);
  return isHeld(file) ? readPid(file) : null;
}

/** The note of the lock's holder, or null. */
export function holderNote(dir: string, name: string): string | null {
  const file = join(dir, 'locks', name);
  return isHeld(file) ? readIfThere(`${file}.note`).trim() || null : null;
}

function isHeld(file: string): boolean {
  return guarded(file, () => {
    if (!statSync(file, { throwIfNoEntry: false })) return false;
    const connection = new Database(file, { readonly: true, timeout: 0 });
    try {
      return isTaken(connection);
    } finally {
      connection.close();
    }
  });
}

function readPid(lock: string): number | null {
  return Number.parseInt(readIfThere(`${lock}.pid`), 10) || null;
}

/** Empty where the holder has just let go. */
function readIfThere(file: string): string {
  return guarded(file, () => {
    try {
      return readFileSync(file, 'utf8');
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return '';
      throw thrown;
    }
  });
}
