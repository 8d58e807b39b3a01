/**
 * Locks that the kernel releases when their holder dies, however it dies, and that a paused holder keeps:
 * SQLite's own file locks, on an empty database file each.
 */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { guarded } from './failure.ts';
import { Database } from './sqlite.ts';

export type Lock = { release(): void };
export type Held = { holder: number | null };

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
        return { holder: readHolder(file) };
      throw thrown;
    }
    writeFileSync(`${file}.pid`, `${process.pid}\n`, { mode: 0o600 });
    return {
      release() {
        rmSync(`${file}.pid`, { force: true });
        connection.close();
      },
    };
  });
}

export function isLock(answer: Lock | Held): answer is Lock {
  return 'release' in answer;
}

function readHolder(file: string): number | null {
  try {
    return Number.parseInt(readFileSync(`${file}.pid`, 'utf8'), 10) || null;
  } catch {
    return null;
  }
}
