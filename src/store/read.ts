/** The store's door for readers: a connection that cannot write, and who is at work on the folder. */

import { existsSync, statSync } from 'node:fs';
import { Failure } from '../base/errors.ts';
import { type Connection, openReadOnly, valueIn } from './connection.ts';
import { guarded } from './failure.ts';
import { hasMirror, mirrorFile, openFit, outdated } from './identity.ts';
import { PROOF } from './sql.ts';
import { Database } from './sqlite.ts';

export { type AnalystView, analystViewsOf, comparedColumns } from './analysts.ts';
export { copyDatabase, sealCopy } from './backup.ts';
export { type Connection, LONG_LOG_BYTES, logBytes, openReadOnly } from './connection.ts';
export { storeFailure } from './failure.ts';
export { filesystemAt, refuseNetworkFilesystem } from './filesystem.ts';
export { hasMirror, type Identity, identityOf, mirrorFile } from './identity.ts';
export { holderNote, livingHolder, syncLock } from './lock.ts';
export { orderReader } from './pages.ts';
export { isBeforeRestore } from './sequence.ts';
export { agesOf, readFindings } from './shapes.ts';
export {
  type ChangeSource,
  changeSources,
  changesSql,
  ERROR_OF_NO_ANSWER,
  freshnessSql,
  isProof,
  NO_ANSWER,
  NOT_STOPPED_BY_US,
  PROOF,
  quoted,
  removerSql,
  SEEN,
  seqOf,
} from './sql.ts';

/**
 * Opens the mirror in `dir` for reading.
 * @param lockWaitMs as of `openReadOnly`.
 * @throws Failure `incomplete` where there is none yet or it is older than this code, `config` where it is newer, `disk`
 * where it is gone.
 */
export function openMirror(dir: string, lockWaitMs?: number): Connection {
  const file = mirrorFile(dir);
  if (!hasMirror(dir))
    throw new Failure(
      'incomplete',
      `${file} does not exist yet: run market-mirror sync or start, or set MIRROR_DIR to the mirror's folder`,
    );
  const { connection, version } = openFit(file, lockWaitMs);
  if (version.isCurrent) return connection;
  connection.close();
  throw outdated(file);
}

/**
 * Reads the mirror in `dir` at one point in time.
 * @throws Failure as `openMirror` does, and `disk` for what goes wrong meanwhile.
 */
export function readMirror<T>(dir: string, read: (connection: Connection) => T): T {
  const connection = openMirror(dir);
  try {
    return guarded(connection.name, () => connection.transaction(() => read(connection))());
  } finally {
    connection.close();
  }
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
  const { connection, version } = openFit(file);
  try {
    return guarded(file, () => {
      const lines = connection.pragma(`integrity_check(${LINES_OF_DAMAGE})`) as { integrity_check: string }[];
      return {
        sqlite: valueIn<string>(connection, 'SELECT sqlite_version()') ?? '',
        upToDate: version.isCurrent,
        damage: lines.map((line) => line.integrity_check).filter((line) => line !== 'ok'),
      };
    });
  } finally {
    connection.close();
  }
}

/** When the latest of the datasets' last proofs began, ISO 8601 UTC; null where nothing is proven. */
export function lastProofAt(file: string): string | null {
  const connection = openReadOnly(file);
  try {
    const lastOfEach = `SELECT max(id) FROM walks WHERE ${PROOF} GROUP BY job`;
    const latest = `SELECT max(started_at) FROM walks WHERE id IN (${lastOfEach})`;
    return guarded(file, () => valueIn<string>(connection, latest) ?? null);
  } finally {
    connection.close();
  }
}

/** What the mirror takes on the disk, with its write-ahead log. */
export function mirrorBytes(file: string): number {
  const parts = [file, `${file}-wal`].filter((part) => existsSync(part));
  return parts.reduce((bytes, part) => bytes + statSync(part).size, 0);
}

/** SQLite's message on a statement that it cannot run; undefined for any other error. */
export function statementError(thrown: unknown): string | undefined {
  return thrown instanceof Database.SqliteError ? thrown.message : undefined;
}

/** Whether SQLite stopped a statement that would write. */
export function isWriteRefused(thrown: unknown): boolean {
  return thrown instanceof Database.SqliteError && thrown.code === 'SQLITE_READONLY';
}
