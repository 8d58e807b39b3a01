/**
 * Which mirror a folder holds, and whether this code can use it. Its name stands in `mirror.id`. Its open files are known by device
 * and inode, since a path may come to name another file.
 */

import { randomUUID } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Failure } from '../base/errors.ts';
import { type Connection, openReadOnly, valueIn } from './connection.ts';
import { guarded } from './failure.ts';
import { noteBackupSeq, noteRestoredSeq } from './sequence.ts';

const ID = 'mirror.id';

/** The database, its write-ahead log, and the index of that log. */
const PARTS = ['', '-wal', '-shm'];

export function mirrorFile(dir: string): string {
  return join(dir, 'mirror.db');
}

/** The file that says which mirror the folder holds. */
const nameFile = (dir: string) => join(dir, ID);

/** Whether there is a mirror in `dir`. @throws Failure `disk` where there was one, or where something else has its name. */
export function hasMirror(dir: string): boolean {
  const file = mirrorFile(dir);
  const found = guarded(file, () => lstatSync(file, { throwIfNoEntry: false }));
  // Locks and log lie beside the path that was opened: two folders with one database would not know of each other.
  if (found?.isSymbolicLink())
    throw new Failure(
      'disk',
      existsSync(file)
        ? `${file} is a symbolic link: set MIRROR_DIR to ${dirname(realpathSync(file))} itself`
        : `${file} is a symbolic link that leads nowhere: bring back what it led to, or remove it`,
    );
  if (found && !found.isFile()) throw new Failure('disk', `${file} is no file: move it away`);
  if (found) return true;
  const signs = [nameFile(dir), `${file}-wal`].filter((sign) => existsSync(sign));
  if (signs.length === 0) return false;
  throw new Failure(
    'disk',
    `${file} is gone: put it back or restore a backup; to begin anew on purpose, delete ${signs.join(' and ')}`,
  );
}

/**
 * The name of the mirror's folder, which the first call makes.
 * @param own what it is, where nothing says it.
 */
export function nameOf(dir: string, own: string = randomUUID()): string {
  const file = nameFile(dir);
  const write = (flag: string) => writeFileSync(file, `${own}\n`, { flag, mode: 0o600, flush: true });
  const read = () => readFileSync(file, 'utf8').trim();
  try {
    write('wx');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
  }
  // A kill before it was written, or a power cut, has left it empty: such mirrors would share one name.
  if (read() === '') write('w');
  return read();
}

/** Which mirror it is; its epoch changes when it is restored from a backup. */
export type Identity = { name: string; epoch: string };

/** Writes the identity of a new mirror, under the name of its folder. */
export function ensureIdentity(connection: Connection, dir: string, now: number): void {
  // A backup that was put here by hand.
  noteRestoredSeq(connection, now);
  if (identityOf(connection)) return;
  connection
    .prepare('INSERT OR IGNORE INTO _identity (id, name, epoch) VALUES (1, ?, ?)')
    .run(nameOf(dir), randomUUID());
}

/** Undefined where no writer has opened the mirror since it was made. */
export function identityOf(connection: Connection): Identity | undefined {
  return connection.prepare<[], Identity>('SELECT name, epoch FROM _identity').get();
}

/** Begins another epoch in a copy that may take the mirror's place one day, without what changes in the mirror meanwhile. */
export function renewEpoch(copy: Connection): void {
  // The database of keys has none.
  if (!hasTable(copy, '_identity')) return;
  copy.prepare('UPDATE _identity SET epoch = ?').run(randomUUID());
  noteBackupSeq(copy);
}

const hasTable = (connection: Connection, name: string) =>
  valueIn(connection, `SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?`, name) !== undefined;

/** Remembers the files of an open database. Returns what says what became of them: undefined while they are the same. */
export function watchFiles(file: string): () => Failure | undefined {
  const known = new Map<string, string>();
  const look = (): Failure | undefined => {
    for (const part of PARTS) {
      const path = `${file}${part}`;
      const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
      const inode = found && `${found.dev} ${found.ino}`;
      const before = known.get(path);
      if (before !== undefined && inode !== before) return lost(path, inode ? 'was replaced' : 'is gone');
      // The log and its index come with the first use.
      if (inode !== undefined) known.set(path, inode);
    }
    return undefined;
  };
  const watch = () => {
    try {
      return look();
    } catch (thrown) {
      return lost(file, `cannot be seen any more (${(thrown as NodeJS.ErrnoException).code})`);
    }
  };
  watch();
  return watch;
}

const lost = (path: string, how: string) =>
  new Failure(
    'disk',
    `${path} ${how} while it was in use: put the mirror back or restore a backup, then start again`,
  );

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
    const isMirror = hasTable(connection, '__drizzle_migrations');
    // A mirror that has a name holds what was paid for.
    if (!isMirror && existsSync(nameFile(dirname(file))))
      throw new Failure(
        'disk',
        `${file} is not the mirror that was here: move it away, and put that one back or restore a backup`,
      );
    const applied = isMirror
      ? connection.prepare('SELECT created_at FROM __drizzle_migrations').pluck().all().map(Number)
      : [];
    const { entries } = JSON.parse(readFileSync(journalFile, 'utf8')) as { entries: { when: number }[] };
    const known = entries.map(({ when }) => when);
    const isUnreleased =
      applied.length > 0 ? Math.min(...applied) < Math.min(...known) : holdsTables(connection);
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

const holdsTables = (connection: Connection) =>
  valueIn(connection, `SELECT 1 FROM sqlite_master WHERE type = 'table'`) !== undefined;

/** Names all files to move: where one of them stayed, the mirror would seem to be gone. */
function unreleased(file: string): Failure {
  const files = [file, `${file}-wal`, nameFile(dirname(file))].filter((path) => existsSync(path));
  return new Failure(
    'config',
    `${file} was made by a development version: move ${files.map((path) => basename(path)).join(' and ')} aside, the next sync makes a new one; sqlite3 still reads it`,
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
