/** Whether this code can use a database: which schema it has, and whether it is whole. */

import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Failure } from '../errors.ts';
import { type Connection, openReadOnly } from './connection.ts';
import { guarded } from './failure.ts';
import { isNamed, nameFile } from './identity.ts';
import { PROOF } from './sql.ts';

export const journalFile = fileURLToPath(import.meta.resolve('#drizzle/meta/_journal.json'));

type Journal = { entries: { when: number }[] };

/**
 * Opens a database for reading, and leaves one untouched that this code cannot use.
 * @param lockWaitMs as of `openReadOnly`.
 * @throws Failure `config` for one that is newer or that no release has made, `disk` for one that lies in a mirror's place
 * and holds none.
 */
export function openFit(file: string, lockWaitMs?: number): Connection {
  const connection = openReadOnly(file, lockWaitMs);
  try {
    const known = readJournal().entries.map((entry) => entry.when);
    if (isNamed(file) && !guarded(file, () => isMirror(connection)))
      throw new Failure(
        'disk',
        `${file} is not the mirror that was here: move it away, and put that one back or restore a backup`,
      );
    const applied = guarded(file, () => appliedMigrations(connection));
    const isUnreleased =
      applied.length > 0
        ? Math.min(...applied) < Math.min(...known)
        : guarded(file, () => hasTables(connection));
    if (isUnreleased) throw unreleased(file);
    const ahead = applied.filter((when) => when > Math.max(...known));
    if (ahead.length > 0)
      throw new Failure(
        'config',
        `${file}: written by a newer market-mirror (it is ahead by ${ahead.length}); upgrade this one`,
      );
    return connection;
  } catch (thrown) {
    connection.close();
    throw thrown;
  }
}

/** @throws Failure as `openFit` does. */
export function refuseUnfit(file: string): void {
  openFit(file).close();
}

/** Where one of them stayed, the mirror would seem to be gone. */
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

export function isUpToDate(connection: Connection): boolean {
  return appliedMigrations(connection).length >= readJournal().entries.length;
}

export function appliedMigrations(connection: Connection): number[] {
  if (!isMirror(connection)) return [];
  return connection.prepare('SELECT created_at FROM __drizzle_migrations').pluck().all().map(Number);
}

function isMirror(connection: Connection): boolean {
  return hasTables(connection, `name = '__drizzle_migrations'`);
}

function hasTables(connection: Connection, condition = 'true'): boolean {
  const list = `SELECT 1 FROM sqlite_master WHERE type = 'table' AND ${condition}`;
  return connection.prepare(list).get() !== undefined;
}

function readJournal(): Journal {
  return JSON.parse(readFileSync(journalFile, 'utf8')) as Journal;
}

type Examined = {
  /** Of SQLite itself. */
  sqlite: string;
  /** False where the next writer migrates it first. */
  upToDate: boolean;
  /** What SQLite finds wrong with it, the first few lines; empty where it is whole. */
  damage: string[];
};

const LINES_OF_DAMAGE = 3;

/**
 * Reads the whole file, which takes a while where it is large.
 * @throws Failure `config` for one newer than this code, `disk` for one that cannot be read or is no mirror.
 */
export function examineMirror(file: string): Examined {
  const connection = openFit(file);
  try {
    return guarded(file, () => ({
      sqlite: String(connection.prepare('SELECT sqlite_version()').pluck().get()),
      upToDate: isUpToDate(connection),
      damage: findDamage(connection),
    }));
  } finally {
    connection.close();
  }
}

function findDamage(connection: Connection): string[] {
  const lines = connection.pragma(`integrity_check(${LINES_OF_DAMAGE})`) as { integrity_check: string }[];
  return lines.map((line) => line.integrity_check).filter((line) => line !== 'ok');
}

/** When the latest of the datasets' last proofs began, ISO 8601 UTC; null where nothing is proven. */
export function lastProofAt(file: string): string | null {
  const connection = openReadOnly(file);
  try {
    const lastOfEach = `SELECT max(id) FROM walks WHERE ${PROOF} GROUP BY job`;
    const latest = `SELECT max(started_at) FROM walks WHERE id IN (${lastOfEach})`;
    return guarded(file, () => connection.prepare<[], string | null>(latest).pluck().get() ?? null);
  } finally {
    connection.close();
  }
}

/** What the mirror takes on the disk, with what waits in the write-ahead log. */
export function mirrorBytes(file: string): number {
  const parts = [file, `${file}-wal`].filter((part) => existsSync(part));
  return parts.reduce((bytes, part) => bytes + statSync(part).size, 0);
}
