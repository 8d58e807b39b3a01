/**
 * Locks that the kernel releases when their holder dies, however it dies, and that a paused holder keeps:
 * SQLite's own file locks, on an empty database file each.
 */

import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive } from '../../alive.ts';
import type { Connection } from './connection.ts';
import { guarded } from './failure.ts';
import { Database } from './sqlite.ts';

export type Lock = {
  /** Leaves a word for those who look at the folder, or takes it back; it counts for as long as the holder lives. */
  note(word: string | null): void;
  release(): void;
};
export type Held = { holder: number | null };

/** All that a note may ever take, so that one that was left once can be changed also when the disk is full. */
const NOTE_BYTES = 2_048;

/** Takes the lock `name` in `dir`, or says which process holds it (its pid, where that can be read). */
export function tryLock(dir: string, name: string): Lock | Held {
  const folder = join(dir, 'locks');
  const file = join(folder, name);
  return guarded(file, () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const connection = new Database(file, { timeout: 0 });
    try {
      connection.exec('BEGIN EXCLUSIVE');
    } catch (thrown) {
      connection.close();
      if (thrown instanceof Database.SqliteError && thrown.code.startsWith('SQLITE_BUSY'))
        return { holder: readPid(file) };
      throw thrown;
    }
    try {
      writeFileSync(`${file}.pid`, `${process.pid}\n`, { mode: 0o600 });
      return hold(file, connection);
    } catch (thrown) {
      connection.close();
      throw thrown;
    }
  });
}

function hold(file: string, connection: Connection): Lock {
  let note: number | undefined;
  return {
    note(word) {
      note ??= openSync(`${file}.note`, 'w', 0o600);
      writeSync(note, (word ?? '').padEnd(NOTE_BYTES), 0);
    },
    release() {
      for (const kind of ['note', 'pid']) rmSync(`${file}.${kind}`, { force: true });
      if (note !== undefined) closeSync(note);
      connection.close();
    },
  };
}

export function isLock(answer: Lock | Held): answer is Lock {
  return 'release' in answer;
}

/**
 * The process that last took the lock `name` and still lives, or null. Looks only at what that process wrote:
 * trying the lock itself could keep a writer from it.
 */
export function livingHolder(dir: string, name: string): number | null {
  const pid = readPid(join(dir, 'locks', name));
  return pid !== null && isAlive(pid) ? pid : null;
}

/** What the living holder of the lock `name` has left for those who look, or null. */
export function holderNote(dir: string, name: string): string | null {
  if (livingHolder(dir, name) === null) return null;
  return readIfThere(join(dir, 'locks', `${name}.note`)).trim() || null;
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
