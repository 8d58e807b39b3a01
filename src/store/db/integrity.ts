/** The mirror looked over: whether it is whole, and whether this code can read and write it. */

import { existsSync, statSync } from 'node:fs';
import { PROOF } from '../sql.ts';
import { type Connection, openReadOnly } from './connection.ts';
import { guarded } from './failure.ts';
import { isUpToDate, openFit } from './version.ts';

export type Examined = {
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
