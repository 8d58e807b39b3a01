/** The store's door for those who only read: a connection that cannot write, and who is at work on the folder. */

import { Failure } from '../errors.ts';
import type { Connection } from './connection.ts';
import { guarded } from './failure.ts';
import { hasMirror, mirrorFile } from './identity.ts';
import { Database } from './sqlite.ts';
import { isUpToDate, openFit, outdated } from './version.ts';

export { LONG_LOG_BYTES, logBytes } from './commits.ts';
export { type Connection, openReadOnly } from './connection.ts';
export { copyDatabase, sealCopy } from './copy.ts';
export { storeFailure } from './failure.ts';
export { filesystemAt, refuseNetworkFilesystem } from './filesystem.ts';
export { hasMirror, type Identity, identityOf, mirrorFile } from './identity.ts';
export { holderNote, livingHolder } from './lock.ts';
export { countRows, orderReader, removalSql } from './orders.ts';
export {
  type ChangeSource,
  changeSources,
  changesSql,
  freshnessSql,
  PROOF,
  quoted,
  SEEN,
  SILENCE_CODE,
  seqOf,
  TELLING,
  UNANSWERED,
} from './sql.ts';
export { examineMirror, lastProofAt, mirrorBytes } from './version.ts';

/**
 * Opens the mirror in `dir` for reading.
 * @param lockWaitMs of a connection that stays open: it waits so long at most, and never keeps others out.
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
  const connection = openFit(file, lockWaitMs);
  if (guarded(file, () => isUpToDate(connection))) return connection;
  connection.close();
  throw outdated(file);
}

/**
 * Reads the mirror in `dir` as it stands at one moment.
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

/** What SQLite says of a statement that it cannot run; undefined for an error of another kind. */
export function statementError(thrown: unknown): string | undefined {
  return thrown instanceof Database.SqliteError ? thrown.message : undefined;
}

/** Whether SQLite stopped a statement because it would write to a mirror that is open for reading. */
export function isWriteRefused(thrown: unknown): boolean {
  return thrown instanceof Database.SqliteError && thrown.code === 'SQLITE_READONLY';
}
